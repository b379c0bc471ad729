"""How far a price, a duration or a threshold may move before the choice by cost changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from atpar.money.calculator import Tariff, in_hours, to_cents
from atpar.money.ledger import Books, ledger_rows
from atpar.money.rental import Rental, engage

LIMIT = 20
"""A window is not tried beyond so many times its length."""


@dataclass(frozen=True)
class Standing:
    """An accepted option as it stands in the balance."""

    offer: str
    variant: str
    engaged: Decimal
    metric_value: float | None
    """The main metric of its worst pass."""


def flip_margins(
    best: Standing,
    others: Sequence[Standing],
    rentals: Mapping[str, Any],
    tariffs: Sequence[Tariff],
    books: Books,
    minimum: float | None,
) -> list[dict[str, Any]]:
    """Return a sentence with its figures for each thing that could change the choice of `best`.

    `others` are the accepted options of other offers: variants of one offer share its rental, so
    only another offer can be cheaper.
    """
    margins = []
    if others:
        runner = min(others, key=lambda one: (one.engaged, one.offer, one.variant))
        margins += _price_margin(best, runner, rentals, books)
        margins += _duration_margin(best, runner, rentals, tariffs, books)
    if minimum is not None and best.metric_value is not None:
        margins.append(_threshold_margin(best, minimum))
    return margins


def _price_margin(best, runner, rentals, books) -> list[dict[str, Any]]:
    rental = rentals[best.offer]
    paid, _ = books.convert(rental.amount, rental.currency)
    gap = runner.engaged - best.engaged
    if not paid:
        return []
    percent = to_cents(Fraction(gap) * 100 / Fraction(paid))
    return [
        {
            "what": "price",
            "offer": best.offer,
            "against": runner.offer,
            "margin": f"{percent}",
            "unit": "%",
            "text": (
                f"The rental of {best.offer} may cost up to {gap} {books.currency} ({percent} %) "
                f"more before {runner.offer} engages no more than it."
            ),
        }
    ]


def _duration_margin(best, runner, rentals, tariffs, books) -> list[dict[str, Any]]:
    rental = rentals[best.offer]
    # What doesn't go with the window: expenses, which the balance holds besides.
    extra = best.engaged - _of_window(rental, books)

    def costs_more(window: timedelta) -> bool:
        grown = engage(rental.offer, tariffs, window, rental.stopped)
        if grown.amount is None or not grown.covers:
            return True
        return _of_window(grown, books) + extra > runner.engaged

    if costs_more(rental.window):
        return []
    # The amount never falls when the window grows, so halving finds the last window that holds.
    low, high = rental.window, rental.window * LIMIT
    if not costs_more(high):
        text = f"Its window may grow {LIMIT} times and {best.offer} still engages no more"
        return [
            {
                "what": "duration",
                "offer": best.offer,
                "against": runner.offer,
                "margin": None,
                "unit": "h",
                "text": f"{text} than {runner.offer}.",
            }
        ]
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        low, high = (low, middle) if costs_more(middle) else (middle, high)
    margin = to_cents(in_hours(low - rental.window))
    return [
        {
            "what": "duration",
            "offer": best.offer,
            "against": runner.offer,
            "margin": f"{margin}",
            "unit": "h",
            "text": (
                f"The window of {best.offer} may grow by {margin} h before what is engaged no "
                f"longer covers it or costs more than {runner.offer}."
            ),
        }
    ]


def _of_window(rental: Rental, books: Books) -> Decimal:
    """Return what the ledger holds of a rental: its amount, stopped time, storage, transfer."""
    rows = ledger_rows([rental], {}, [], books)
    return sum((row.get("amount") or Decimal("0.00") for row in rows), Decimal("0.00"))


def _threshold_margin(best: Standing, minimum: float) -> dict[str, Any]:
    margin = best.metric_value - minimum
    return {
        "what": "threshold",
        "offer": best.offer,
        "against": None,
        "margin": f"{margin:.6f}",
        "unit": "of the main metric",
        "text": (
            f"{best.variant} on {best.offer} reaches {best.metric_value:.4f} in its worst pass; "
            f"the minimum of {minimum:g} could be {margin:.4f} higher before it is rejected. A "
            "threshold moved after the fact needs a new evaluation corpus."
        ),
    }
