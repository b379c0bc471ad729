"""A series varies one option; whatever else differs in it is said [P10]."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atpar.config.variants import LABELS

COUPLED = {
    "batch_size": ("token_budget",),
    "padding": ("pad_multiple",),
    "order": ("window",),
    "compile": ("shapes",),
}
"""Options that can't be stated alone: they count as one with the option they belong to."""


@dataclass(frozen=True)
class Series:
    """A series and the options in which its variants differ."""

    name: str
    variants: tuple[str, ...]
    varies: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """What keeps a difference within the series from having one cause; None: nothing."""
        if len(self.varies) > 1:
            return (
                f"series {self.name!r} varies {len(self.varies)} options at once "
                f"({', '.join(self.varies)}): a difference between {', '.join(self.variants)} "
                "can't be put down to one of them"
            )
        if not self.varies and len(self.variants) > 1:
            return f"series {self.name!r} holds one setting under {len(self.variants)} names"
        return None


def check_series(
    variants: Iterable[Mapping[str, Any]], control: Iterable[str] = ()
) -> list[Series]:
    """Return each series with the options it varies, in the order of their first variant.

    `variants` are the rows of the variants table as plain values. Names in `control` are one
    setting twice, on purpose, and don't make a series vary nothing.
    """
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for variant in variants:
        groups[variant["series"]].append(variant)
    control = set(control)
    found = []
    for name, rows in groups.items():
        names = tuple(row["variant"] for row in rows)
        if control and set(names) <= control:
            continue
        found.append(Series(name, names, _differing(rows)))
    return found


def _differing(rows: list[Mapping[str, Any]]) -> tuple[str, ...]:
    options = [option for option in rows[0] if option not in LABELS]
    differing = [option for option in options if len({row[option] for row in rows}) > 1]
    for option, others in COUPLED.items():
        if option in differing or any(other in differing for other in others):
            differing = [one for one in differing if one not in others]
            if option not in differing:
                differing.append(option)
    return tuple(differing)
