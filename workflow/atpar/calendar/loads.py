"""What an option's rental costs for a load: hours from a forecast, amounts from the tariffs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from atpar.money.calculator import Tariff, hours, in_hours, to_cents
from atpar.money.ledger import Books


@dataclass(frozen=True)
class Pace:
    """How long an option takes: a fixed part, and seconds for an entry with their interval."""

    offer: str
    variant: str
    fixed: timedelta
    """Preparation, fetching and start-up: what any load needs once."""
    seconds: float
    low: float
    high: float

    def rental(self, entries: int) -> tuple[timedelta, timedelta, timedelta]:
        """Return the rental's length for so many entries: expected, shortest, longest."""
        return tuple(
            self.fixed + timedelta(seconds=entries * each)
            for each in (self.seconds, self.low, self.high)
        )


@dataclass(frozen=True)
class Price:
    """The cheapest way to rent for a time under one kind of billing."""

    amount: Decimal
    tariff: Tariff
    periods: int
    """Packages one after another, priced one by one; 1 for hourly billing."""


def price_of(tariffs: Sequence[Tariff], lots: int, window: timedelta, books: Books) -> Price | None:
    """Return the cheapest price for a window among prices of one kind of billing.

    A window that no package covers is priced as several periods of one package: for a forecast
    only, since a rental is never extended by itself. None if nothing is offered in so many lots.
    """
    found = []
    for tariff in tariffs:
        if not tariff.is_offered(lots):
            continue
        if tariff.billing == "hourly":
            periods, amount = 1, tariff.amount(lots, window)
        else:
            periods = max(1, -(-window // tariff.usable))
            amount = periods * tariff.amount(lots)
        found.append(Price(books.convert(amount, tariff.currency)[0], tariff, periods))
    return min(found, key=lambda one: (one.amount, one.periods), default=None)


def hourly_rate(tariffs: Sequence[Tariff], lots: int, books: Books) -> Fraction | None:
    """Return what one hour of work costs when paid time is used up: the least of the prices.

    None if nothing is offered in so many lots.
    """
    rates = []
    for tariff in tariffs:
        if not tariff.is_offered(lots):
            continue
        if tariff.billing == "hourly":
            rate = Fraction(tariff.lot_price) * lots
        else:
            rate = Fraction(tariff.lot_price) * lots / in_hours(tariff.usable)
        if tariff.currency != books.currency:
            rate *= Fraction(books.convert(Decimal(1_000_000), tariff.currency)[0]) / 1_000_000
        rates.append(rate)
    return min(rates, default=None)


def per_million(rate: Fraction, seconds: float) -> Decimal:
    """Return what a million entries cost at `rate` an hour and `seconds` an entry."""
    return to_cents(rate * in_hours(hours(Fraction(seconds) * 1_000_000 / 3600)))
