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

    def __str__(self) -> str:
        return f"{self.variant} on {self.offer}"


def flip_margins(
    best: Standing,
    others: Sequence[Standing],
    rentals: Mapping[str, Any],
    tariffs: Sequence[Tariff],
    books: Books,
    minimum: float | None,
) -> list[dict[str, Any]]:
    """Return a sentence with its figures for each thing that could change the choice of `best`.

    `others` are the other accepted options. Variants of one offer share its rental and its window,
    so these two are set against other offers only; within the offer the variants' own expenses
    make the difference.
    """
    margins = []
    elsewhere = [one for one in others if one.offer != best.offer]
    if elsewhere:
        runner = _runner(elsewhere)
        against = _named(runner, elsewhere)
        margins += _price_margin(best, runner, against, rentals, books)
        margins += _duration_margin(best, runner, against, rentals, tariffs, books)
    dearer = [one for one in others if one.offer == best.offer and one.engaged > best.engaged]
    if dearer:
        margins.append(_expense_margin(best, _runner(dearer), books))
    if minimum is not None and best.metric_value is not None:
        margins.append(_threshold_margin(best, minimum))
    return margins


def _runner(others: Sequence[Standing]) -> Standing:
    return min(others, key=lambda one: (one.engaged, one.offer, one.variant))


def _named(runner: Standing, others: Sequence[Standing]) -> str:
    """Return the offer's name, or the option's where expenses part the offer's options."""
    amounts = {one.engaged for one in others if one.offer == runner.offer}
    return runner.offer if len(amounts) == 1 else str(runner)


def _price_margin(best, runner, against, rentals, books) -> list[dict[str, Any]]:
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
            "against": against,
            "margin": f"{percent}",
            "unit": "%",
            "text": (
                f"The rental of {best.offer} may cost up to {gap} {books.currency} ({percent} %) "
                f"more before {against} engages no more than {best}."
            ),
        }
    ]


def _duration_margin(best, runner, against, rentals, tariffs, books) -> list[dict[str, Any]]:
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
                "against": against,
                "margin": None,
                "unit": "h",
                "text": f"{text} than {against}.",
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
            "against": against,
            "margin": f"{margin}",
            "unit": "h",
            "text": (
                f"The window of {best.offer} may grow by {margin} h before what is engaged no "
                f"longer covers it or costs more than {against}."
            ),
        }
    ]


def _expense_margin(best: Standing, runner: Standing, books: Books) -> dict[str, Any]:
    gap = runner.engaged - best.engaged
    return {
        "what": "expense",
        "offer": best.offer,
        "against": str(runner),
        "margin": f"{gap}",
        "unit": books.currency,
        "text": (
            f"The expenses of {best.variant} alone may grow by {gap} {books.currency} before "
            f"{runner}, which shares its rental, engages no more than {best}."
        ),
    }


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
            f"{best} reaches {best.metric_value:.4f} in its worst pass; "
            f"the minimum of {minimum:g} could be {margin:.4f} higher before it is rejected. A "
            "threshold moved after the fact needs a new evaluation corpus."
        ),
    }
