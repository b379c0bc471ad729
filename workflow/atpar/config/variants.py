"""Variants: ways of running the model [P7], [P10]."""

from typing import Literal

from pydantic import Field, model_validator

from atpar.config.base import Model, Name


class Variant(Model):
    """One row of the variants table."""

    variant: Name
    """Its name."""
    series: Name = "first"
    """The series it belongs to; variants of a series differ in one option."""
    precision: Literal["fp32", "bf16"] = "fp32"
    batch_size: int = Field(ge=1)
    """Entries in a batch."""
    order: Literal["corpus", "length"] = "corpus"
    """`length` groups entries of like length; results are written back in corpus order."""
    padding: Literal["longest", "max_length"] = "longest"
    """Pad to the longest entry of a batch, or always to `max_length`."""
    max_length: int | None = Field(None, ge=1)
    """Longest input in tokens; longer ones are truncated and counted. null: the model's limit."""
    attention: Literal["sdpa", "eager"] = "sdpa"
    """Attention backend asked for; the record says what was used."""
    recovers: Name | None = None
    """The variant whose failures this one recovers; its time counts with it [P18]."""

    @model_validator(mode="after")
    def _not_its_own_recovery(self) -> "Variant":
        if self.recovers == self.variant:
            raise ValueError("`recovers` names the variant itself")
        return self
