"""Passes excluded for a documented external cause [P19]."""

from pydantic import Field, field_validator

from atpar.config.base import Model


class Exclusion(Model):
    """One row of the exclusions table. The attempt's row stays; it only doesn't count."""

    attempt_id: str
    """The attempt, as `attempts.csv` names it: offer/variant/repetition/number."""
    cause: str = Field(min_length=1)
    """What happened outside the variant."""
    evidence: str = Field(min_length=1)
    """Where that is documented: a log, a ticket, a message of the provider."""

    @field_validator("attempt_id")
    @classmethod
    def _four_parts(cls, text: str) -> str:
        parts = text.split("/")
        if len(parts) != 4 or not all(parts) or not (parts[2] + parts[3]).isdecimal():
            raise ValueError(f"{text!r} is no attempt; write offer/variant/repetition/number")
        return text
