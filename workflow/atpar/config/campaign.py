"""The whole configuration of a campaign."""

from typing import Literal

from pydantic import Field

from atpar.config.base import Model, Name
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


class Money(Model):
    """How money is read and shown."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$")
    """Currency of the balance; prices in another one need a rate."""
    rates: dict[str, str] = Field(default_factory=dict)
    """Currency -> `amount@date`: what one unit of it is worth in `currency`, as dated text."""
    price_age_days: int = Field(90, ge=1)
    """A price older than this on the decision's day is flagged."""
    campaign_cap: str | None = None
    """Most that the campaign itself may spend, as decimal text; null: no cap."""


class Production(Model):
    """The real load that a forecast is made for [P34]."""

    entries: int = Field(ge=1)
    """Number of entries."""
    buckets: dict[str, float] | None = None
    """Share of each bucket; null: as in the evaluation corpus."""


class Campaign(Model):
    """`config/config.yaml`, with its overlays merged."""

    campaign: Name
    """Name of the campaign: the folder under results/."""
    follows: Name | None = None
    """An earlier campaign that asked the same question."""
    here: Name | list[Name] = "all"
    """The offers this machine is: `all`, `none`, one name, or several."""
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
    production: Production | None = None
    """The real load to forecast; null: no forecast."""
    lock_folder: str | None = None
    """Where device locks lie; null: a folder of this machine's temporary files."""
    report: Literal["full", "short"] = "full"
    """`short` leaves the single attempts out of the report page."""
    evidence: Literal["hashes", "texts"] = "hashes"
    """What of the corpus goes into the evidence bag: ids with hashes of their texts, or the texts
    and the reference answers themselves."""
