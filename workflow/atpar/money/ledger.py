"""The ledger: one row an expense, of each offer and, where it is theirs alone, of each variant.

A rental shared by several variants is engaged once. Its amount is divided over what its paid time
went to, so that the rows of an offer add up to it to the cent, the unused tail among them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from atpar.config.expenses import Expense
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff, in_hours, show_hours, to_cents
from atpar.money.currency import convert
from atpar.money.rental import ZERO, Rental

DEFINITION = 2
"""Version of how the ledger divides and adds.

2: an expense of one offer replaces the one that is stated for all; before, both were charged.
"""
MONTH_H = 730
COMMON = "rental: preparation, other tasks and waits"
PASSES = "rental: passes"
RETRIES = "rental: failed and repeated attempts"
UNUSED = "rental: paid but unused"
STOPPED = "rental: stopped"
STORAGE = "storage"
TRANSFER = "transfer out"


@dataclass(frozen=True)
class Usage:
    """What the window's time went to, per variant."""

    passes: Mapping[str, timedelta] = field(default_factory=dict)
    """Attempts that count."""
    retries: Mapping[str, timedelta] = field(default_factory=dict)
    """Failed, interrupted and repeated attempts."""


@dataclass(frozen=True)
class Books:
    """The currency of the balance and the rates into it."""

    currency: str
    rates: Mapping[str, str]

    def knows(self, currency: str) -> bool:
        """Return whether amounts in that currency can be converted."""
        return currency == self.currency or currency in self.rates

    def convert(self, amount: Decimal | Fraction, currency: str) -> tuple[Decimal, str | None]:
        """Return the amount in the balance's currency to the cent, and a sentence on the rate."""
        exact, rate = convert(amount, currency, self.currency, self.rates)
        return to_cents(exact), rate


def ledger_rows(
    rentals: Sequence[Rental],
    usages: Mapping[str, Usage],
    expenses: Sequence[Expense],
    books: Books,
) -> list[dict[str, Any]]:
    """Return the ledger of all offers; an amount that isn't known is None with its reason."""
    rows = []
    for rental in rentals:
        offer = rental.offer.offer
        rows += rental_rows(rental, usages.get(offer, Usage()), books)
        rows += [storage_row(rental, books), transfer_row(rental, books)]
        rows += expense_rows(rental.offer, expenses, books)
    return rows


def row(offer: Offer, item: str, **cells: Any) -> dict[str, Any]:
    """Return one row of the ledger."""
    return {"offer": offer.offer, "variant": "", "item": item, "definition": DEFINITION, **cells}


def rental_rows(rental: Rental, usage: Usage, books: Books) -> list[dict[str, Any]]:
    """Return the rental's amount divided over its paid hours, and the stopped time."""
    offer = rental.offer
    if rental.amount is None:
        return [row(offer, COMMON, currency=books.currency, amount_reason=rental.reason)]
    amount, rate = books.convert(rental.amount, rental.currency)
    grounds = "; ".join(filter(None, (rental.grounds, rate)))
    shares = _shares(rental, usage)
    parts = divide(amount, [in_hours(duration) for _, _, duration in shares])
    common = {"unit": "h", "currency": books.currency, "source": sources(rental.tariffs)}
    rows = [
        row(
            offer,
            item,
            variant=variant,
            quantity=hours_cell(duration),
            amount=part,
            grounds=grounds,
            **common,
        )
        for (item, variant, duration), part in zip(shares, parts, strict=True)
    ]
    if rental.stopped and rental.tariffs[0].billing == "hourly":
        cells = {
            **common,
            "quantity": hours_cell(rental.stopped * offer.lots),
            "unit": "lot-h",
            "grounds": f"stopped, not released: {offer.lots} x {show_hours(rental.stopped)}",
        }
        if rental.stopped_amount is None:
            cells["amount_reason"] = "the tariff doesn't say what stopped time costs"
        else:
            cells["amount"] = books.convert(rental.stopped_amount, rental.currency)[0]
            cells["unit_price"] = rental.tariffs[0].stopped_per_hour
            cells["unit_price_currency"] = rental.currency
        rows.append(row(offer, STOPPED, **cells))
    return rows


def _shares(rental: Rental, usage: Usage) -> list[tuple[str, str, timedelta]]:
    """Return (item, variant, time) of the paid time; nothing is counted twice."""
    spent = sum([*usage.passes.values(), *usage.retries.values()], ZERO)
    # A package that doesn't cover its window is paid, and what runs beyond it isn't in it.
    within = min(rental.running, rental.paid)
    shares = [(COMMON, "", max(within - spent, ZERO))]
    shares += [(PASSES, variant, time) for variant, time in usage.passes.items() if time]
    shares += [(RETRIES, variant, time) for variant, time in usage.retries.items() if time]
    return [*shares, (UNUSED, "", rental.unused)]


def divide(amount: Decimal, weights: Sequence[Fraction]) -> list[Decimal]:
    """Divide an amount by weights to the cent; the parts add up to it exactly.

    Largest remainder: whole cents first, then one more to the parts that lost most by rounding,
    earlier ones first. Without any weight the first part takes it all.
    """
    whole = sum(weights, Fraction(0))
    if not whole:
        return [amount, *(Decimal("0.00") for _ in weights[1:])]
    cents = int(amount * 100)
    exact = [cents * weight / whole for weight in weights]
    parts = [int(one // 1) for one in exact]
    order = sorted(range(len(parts)), key=lambda place: parts[place] - exact[place])
    for place in order[: cents - sum(parts)]:
        parts[place] += 1
    return [Decimal(f"{part}E-2") for part in parts]


def storage_row(rental: Rental, books: Books) -> dict[str, Any]:
    """Return the disk's line: included, priced for the window, or a gap with its reason."""
    months = in_hours(rental.window) / MONTH_H
    return _metered(
        rental,
        books,
        STORAGE,
        needed=rental.offer.storage_gb,
        included="disk_included_gb",
        price="storage_per_gb_month",
        factor=months,
        unit="GB-month",
        column="storage_gb",
    )


def transfer_row(rental: Rental, books: Books) -> dict[str, Any]:
    """Return the line for data fetched: included, priced, or a gap with its reason."""
    return _metered(
        rental,
        books,
        TRANSFER,
        needed=rental.offer.egress_gb,
        included="egress_included_gb",
        price="egress_per_gb",
        factor=Fraction(1),
        unit="GB",
        column="egress_gb",
    )


def _metered(rental, books, item, *, needed, included, price, factor, unit, column):
    offer = rental.offer
    base = {"unit": unit, "currency": books.currency, "source": sources(rental.tariffs)}
    if needed is None:
        return row(offer, item, **base, amount_reason=f"{column} isn't stated in the offers table")
    if not rental.tariffs:
        return row(offer, item, **base, amount_reason="nothing is engaged, so no tariff applies")
    tariff = rental.tariffs[0]
    free, rate = getattr(tariff, included), getattr(tariff, price)
    extra = max(Decimal(needed) - (free or 0), Decimal(0))
    quantity = Fraction(extra) * factor
    base["quantity"] = f"{float(quantity):.6f}"
    if not extra:
        grounds = f"{needed} GB needed, {free} GB included" if free else "none needed"
        return row(offer, item, **base, amount=Decimal("0.00"), grounds=grounds)
    if rate is None:
        known = "nothing is stated as included" if free is None else f"{free} GB are included"
        return row(
            offer,
            item,
            **base,
            amount_reason=f"not included in the amounts: {needed} GB needed, {known}, and the "
            f"tariff has no {price}",
        )
    amount, conversion = books.convert(quantity * Fraction(rate), tariff.currency)
    grounds = f"{needed} GB needed, {free or 0} GB included"
    return row(
        offer,
        item,
        **base,
        unit_price=rate,
        unit_price_currency=tariff.currency,
        amount=amount,
        grounds="; ".join(filter(None, (grounds, conversion))),
    )


def expense_rows(offer: Offer, expenses: Iterable[Expense], books: Books) -> list[dict[str, Any]]:
    """Return the offer's other expenses; one that only another offer states is a gap, not 0."""
    expenses = list(expenses)
    own = of_offer(expenses, offer.offer)
    rows = []
    for one in own:
        amount, rate = books.convert(one.amount, one.currency)
        rows.append(
            row(
                offer,
                one.expense,
                variant=one.variant or "",
                quantity=one.quantity,
                unit=one.unit,
                unit_price=one.unit_price,
                unit_price_currency=one.currency,
                amount=amount,
                currency=books.currency,
                grounds="; ".join(filter(None, (one.grounds, rate))),
                source=one.source,
            )
        )
    stated = {one.expense.lower() for one in own}
    for name, same in _by_name(expenses).items():
        if name.lower() not in stated:
            others = sorted({str(one.offer) for one in same})
            reason = (
                f"stated for {', '.join(others)} and not for this offer; if it costs nothing "
                "here, state 0 with its grounds in the expenses table"
            )
            rows.append(row(offer, name, currency=books.currency, amount_reason=reason))
    return rows


def of_offer(expenses: Iterable[Expense], offer: str) -> list[Expense]:
    """Return the expenses that an offer pays: a row with the offer replaces the one for all."""
    expenses = list(expenses)
    own = {_paid_for(one) for one in expenses if one.offer == offer}
    return [
        one
        for one in expenses
        if one.offer == offer or (one.offer is None and _paid_for(one) not in own)
    ]


def _by_name(expenses: Iterable[Expense]) -> dict[str, list[Expense]]:
    """Return the expenses by their names, which differ ignoring case."""
    named: dict[str, list[Expense]] = {}
    for one in expenses:
        named.setdefault(one.expense.lower(), []).append(one)
    return {same[0].expense: same for same in named.values()}


def _paid_for(expense: Expense) -> tuple[str, str | None]:
    return expense.expense.lower(), expense.variant


def sources(tariffs: Sequence[Tariff]) -> str | None:
    """Return where the prices come from: date and source."""
    texts = dict.fromkeys(f"{one.source}, priced on {one.priced_on}" for one in tariffs)
    return "; ".join(texts) or None


def hours_cell(duration: timedelta) -> str:
    """Return hours with six decimals (3.6 ms)."""
    return f"{float(in_hours(duration)):.6f}"
