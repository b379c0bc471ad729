"""Hourly billing in full [P32]: running hours, stopped hours, storage, transfer, failed retries."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from atpar.errors import AtparError
from atpar.money.calculator import billed_time, in_hours, show_hours, to_cents

ZERO = timedelta()


@dataclass(frozen=True)
class HourlyCost:
    """What is known of an hourly rental. None is unknown: said, and never taken as zero."""

    price: Decimal
    """Price of one GPU for one hour."""
    gpus: int
    running: timedelta
    """From the start of billing to its end, boot and installation included."""
    step: timedelta | None = None
    """Billing rounds up to this."""
    minimum: timedelta | None = None
    stopped: timedelta = ZERO
    stopped_price: Decimal | None = None
    """Price of one stopped GPU for one hour."""
    storage: Decimal | None = None
    transfer: Decimal | None = None
    retries: Decimal | None = None
    """Amounts for storage, for transfer out, and for failed retries."""
    retry_time: timedelta | None = None
    """Running time of failed retries, where they come on top of `running`."""


@dataclass(frozen=True)
class Line:
    """One line of the answer; an amount of None is unknown."""

    item: str
    amount: Decimal | None
    grounds: str


def cost_lines(cost: HourlyCost) -> list[Line]:
    """Return the cost line by line. AtparError on negative or contradictory values."""
    _check(cost)
    charged = billed_time(cost.running, cost.step, cost.minimum or ZERO)
    rate = Fraction(cost.price) * cost.gpus
    each = f"{cost.price} x {cost.gpus} GPU{'s' * (cost.gpus != 1)}"
    lines = [
        Line(
            "running",
            to_cents(rate * in_hours(charged)),
            f"{each} x {show_hours(charged)} billed ({show_hours(cost.running)} used)",
        )
    ]
    if cost.stopped:
        price = cost.stopped_price
        amount = None
        if price is not None:
            amount = to_cents(Fraction(price) * cost.gpus * in_hours(cost.stopped))
        unpriced = "" if price is not None else "; its price is not stated"
        lines.append(
            Line("stopped", amount, f"{show_hours(cost.stopped)} stopped, not released{unpriced}")
        )
    lines += [_stated("storage", cost.storage), _stated("transfer", cost.transfer)]
    if cost.retry_time is not None:
        again = ZERO
        if cost.retry_time:
            again = billed_time(cost.retry_time, cost.step, cost.minimum or ZERO)
        lines.append(
            Line(
                "failed retries", to_cents(rate * in_hours(again)), f"{each} x {show_hours(again)}"
            )
        )
    else:
        lines.append(_stated("failed retries", cost.retries))
    return lines


def _check(cost: HourlyCost) -> None:
    amounts = (cost.price, cost.stopped_price, cost.storage, cost.transfer, cost.retries)
    spans = (cost.running, cost.stopped, cost.retry_time, cost.minimum)
    if any(one is not None and one < 0 for one in amounts):
        raise AtparError("an amount can't be negative")
    if any(one is not None and one < ZERO for one in spans):
        raise AtparError("a time can't be negative")
    if cost.gpus < 1:
        raise AtparError("--gpus must be at least 1")
    if cost.step is not None and cost.step <= ZERO:
        raise AtparError("a billing step must be longer than nothing")
    if cost.retries is not None and cost.retry_time is not None:
        raise AtparError("give failed retries as an amount or as hours, not both")


def total_of(lines: list[Line]) -> tuple[Decimal, list[str]]:
    """Return the sum of what is known, and the items that aren't."""
    known = sum((one.amount for one in lines if one.amount is not None), Decimal("0.00"))
    return known, [one.item for one in lines if one.amount is None]


def _stated(item: str, amount: Decimal | None) -> Line:
    if amount is None:
        return Line(item, None, "not stated")
    return Line(item, to_cents(amount), "as stated")
