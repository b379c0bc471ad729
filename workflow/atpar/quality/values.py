"""A metric's value, or why it has none."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """A metric's value, or why it has none."""

    value: float | None
    reason: str | None = None
