"""The whole configuration of a campaign."""

from typing import Literal

from pydantic import Field, model_validator

from atpar.config.base import HERE_WORDS, Model, Name
from atpar.config.corpus import Corpus
from atpar.config.model import ModelSource
from atpar.config.protocol import Protocol


class Tables(Model):
    """The tables a person edits, relative to the working directory."""

    variants: str = "config/variants.tsv"
    """Ways of running the model."""
    offers: str = "config/offers.tsv"
    """What can be rented."""
    calendar: str = "config/calendar.tsv"
    """Tasks of the rental."""
    expenses: str = "config/expenses.tsv"
    """Other spending, with its grounds [P31]."""
    exclusions: str = "config/exclusions.tsv"
    """Passes excluded for an external cause [P19]."""
    tariffs: list[str] = Field(
        default_factory=lambda: ["resources/tariffs/iteragpu-2026-09-24.csv"], min_length=1
    )
    """Dated price lists; of two dates of one price the newest holds."""


class Money(Model):
    """How money is read and shown."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$")
    """Currency of the balance, in three capital letters; prices in another one need a rate."""
    rates: dict[str, str] = Field(default_factory=dict)
    """Currency -> `amount@date`: what one unit of it is worth in `currency`, as dated text."""
    price_age_days: int = Field(90, ge=1)
    """A price older than this on the day of the last attempt (in a plan: today) is flagged."""
    campaign_cap: str | None = Field(None, pattern=r"^\d+(\.\d+)?$")
    """Most that the campaign itself may spend, as decimal text; null: no cap. What the tables state
    needs a price under a cap; disk, transfer or expenses that they don't state aren't counted."""


class Production(Model):
    """The real load that a forecast is made for [P34]: a count, or files that are tokenized."""

    entries: int | None = Field(None, ge=1)
    """Number of entries; null: as many as the files hold."""
    buckets: dict[str, float] | None = None
    """Share of each length bucket; null: as in the evaluation corpus."""
    files: list[str] | None = Field(None, min_length=1)
    """Corpus files of the real load, with the corpus' columns; their texts are tokenized."""

    @model_validator(mode="after")
    def _one_description(self) -> "Production":
        if self.files is None and self.entries is None:
            raise ValueError("state the number of entries, or the files that hold them")
        if self.files is not None and self.buckets is not None:
            raise ValueError("files have their own lengths, so leave buckets out")
        shares = self.buckets or {}
        if any(share < 0 for share in shares.values()):
            raise ValueError("a share of a bucket can't be negative")
        if shares and abs(sum(shares.values()) - 1) > 1e-6:
            raise ValueError(f"the shares of buckets add up to {sum(shares.values()):g}, not 1")
        return self


class Tune(Model):
    """The search of `snakemake tune`, on tuning entries alone."""

    variant: Name
    """The variant whose other options are kept."""
    option: Literal["batch_size", "token_budget"] = "batch_size"
    """What is searched: entries in a batch, or padded tokens in a batch."""
    smallest: int = Field(1, ge=1)
    """Where doubling starts; a token budget starts at the longest input or above."""
    largest: int = Field(256, ge=1)
    """Where it ends, if the device's memory doesn't end it before."""
    entries: int = Field(200, ge=1)
    """Tuning entries in each trial, spread evenly over the split."""

    @model_validator(mode="after")
    def _range(self) -> "Tune":
        if self.largest < self.smallest:
            raise ValueError(f"largest is {self.largest}, below smallest {self.smallest}")
        return self


class Campaign(Model):
    """`config/config.yaml`, with its overlays merged."""

    campaign: Name
    """Name of the campaign: the folder under results/."""
    follows: Name | None = None
    """An earlier campaign that asked the same question."""
    here: Name | list[Name] = "all"
    """The offers this machine is: `all`, `none`, one name, several, or `auto`: told by its GPUs."""
    shared: str | None = Field(None, pattern=r"^s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9._-]+)*$")
    """Shared storage of all nodes, `s3://bucket/folder`: passes go there as they are finished."""
    corpus: Corpus
    """The texts, and the evaluation corpus drawn from them."""
    model: ModelSource
    """The model and its tokenizer."""
    protocol: Protocol
    """The decision and its rules, sealed by the first pass."""
    repetitions_added: int = Field(0, ge=0)
    """Repetitions added to all variants under the sealed extension rule."""
    tables: Tables = Tables()
    """The files of the tables that a person edits."""
    money: Money = Money()
    """Currency, rates and limits."""
    tune: Tune | None = None
    """What the target `tune` searches; null: nothing."""
    production: Production | None = None
    """The real load to forecast; null: no forecast."""
    lock_folder: str | None = None
    """Where device locks lie; null: a folder of this machine's temporary files."""
    report: Literal["full", "short"] = "full"
    """`short` leaves the single attempts out of the report page."""
    evidence: Literal["hashes", "texts"] = "hashes"
    """What of the corpus goes into the evidence bag: ids with hashes of their texts, or the texts
    and the reference answers themselves."""

    @model_validator(mode="after")
    def _each_offer_here_once(self) -> "Campaign":
        if isinstance(self.here, list):
            for name in self.here:
                if name in HERE_WORDS:
                    raise ValueError(f"here lists {name!r}, which stands alone: here: {name}")
                if self.here.count(name) > 1:
                    raise ValueError(f"here names {name!r} twice: {self.here}")
        return self
