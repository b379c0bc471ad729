"""What an offer's rental engages for its window [P28], [P29], [P31], [P32]."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from atpar.config.offers import Offer
from atpar.money.calculator import (
    Tariff,
    alternatives,
    candidates,
    hours,
    in_hours,
    show_hours,
    to_cents,
)
from atpar.money.priced import engaged_tariffs, further_tariffs, offer_tariffs

ZERO = timedelta()


@dataclass(frozen=True)
class Rental:
    """The rental that one offer engages, whoever shares it."""

    offer: Offer
    tariffs: tuple[Tariff, ...]
    """The packages engaged, or the one hourly price; empty if nothing covers the window."""
    window: timedelta
    stopped: timedelta
    amount: Decimal | None
    """What is paid for the running time or the packages, in the tariff's currency."""
    stopped_amount: Decimal | None
    """What is paid while stopped (hourly); None if the price isn't known, 0 if never stopped."""
    paid: timedelta
    """Paid time: the packages' whole terms, or the billed hours."""
    covers: bool
    reason: str | None = None
    """Why nothing is engaged, or what isn't covered."""
    grounds: str = ""

    @property
    def running(self) -> timedelta:
        """The window without the time in which an hourly rental is stopped."""
        hourly = bool(self.tariffs) and self.tariffs[0].billing == "hourly"
        return self.window - self.stopped if hourly else self.window

    @property
    def unused(self) -> timedelta:
        """Paid time that the window doesn't use: the tail of a package, rounding and minimum."""
        return max(self.paid - self.running, ZERO)

    @property
    def total(self) -> Decimal | None:
        """What running and stopped time or the packages cost; None if a part isn't known."""
        if self.amount is None or self.stopped_amount is None:
            return None
        return self.amount + self.stopped_amount

    @property
    def currency(self) -> str:
        """Currency of the amounts."""
        return self.tariffs[0].currency


def engage(
    offer: Offer, tariffs: Sequence[Tariff], window: timedelta, stopped: timedelta = ZERO
) -> Rental:
    """Return what the offer's billing engages for a window of which `stopped` is stopped.

    A stated term is engaged whether it covers or not; without one the cheapest package that covers.
    Nothing is ever extended by itself: further packages are those that the offer states.
    """
    known = engaged_tariffs(offer, tariffs)
    if offer.billing == "hourly":
        return _hourly(offer, known[0], window, stopped)
    if offer.term_days is not None:
        chosen = known[0]
    else:
        fitting = candidates(known, offer.lots, window)
        if not fitting and offer.further_terms_days is None:
            return _nothing(offer, known, tariffs, window, stopped)
        chosen = fitting[0].tariff if fitting else known[-1]
    packages = (chosen, *further_tariffs(offer, tariffs))
    usable = sum((one.usable for one in packages), ZERO)
    covers = usable >= window
    reason = None
    if not covers:
        reason = (
            f"the window of {show_hours(window)} exceeds the {show_hours(usable)} usable in what "
            "is engaged; "
            + "; ".join(alternatives(offer_tariffs(offer, tariffs), offer.lots, window))
        )
    amounts = [one.amount(offer.lots) for one in packages]
    return Rental(
        offer,
        packages,
        window,
        stopped,
        sum(amounts, Decimal("0.00")),
        Decimal("0.00"),
        sum((hours(one.term_days * 24) for one in packages), ZERO),
        covers,
        reason,
        "; ".join(
            f"{one.term_days:f}-day package, {offer.lots} x {to_cents(one.lot_price)} = {amount} "
            f"{one.currency}, engaged whole"
            for one, amount in zip(packages, amounts, strict=True)
        ),
    )


def _hourly(offer: Offer, tariff: Tariff, window: timedelta, stopped: timedelta) -> Rental:
    running = window - stopped
    billed = tariff.billed(running)
    known = tariff.stopped_per_hour
    stopped_amount = Decimal("0.00")
    if stopped:
        rate = None if known is None else Fraction(known) * offer.lots
        stopped_amount = None if rate is None else to_cents(rate * in_hours(stopped))
    begins, ends = tariff.billed_from or "unknown", tariff.billed_until or "unknown"
    return Rental(
        offer,
        (tariff,),
        window,
        stopped,
        tariff.amount(offer.lots, running),
        stopped_amount,
        billed,
        covers=True,
        grounds=(
            f"{offer.lots} x {tariff.lot_price} {tariff.currency} a running hour x "
            f"{show_hours(billed)} billed ({_rounding(tariff)}; billing starts: {begins}, "
            f"ends: {ends})"
        ),
    )


def _rounding(tariff: Tariff) -> str:
    if tariff.step_s is None:
        return "exact, no billing step stated"
    # A provider may round each start by itself; how often the rental starts isn't planned.
    return f"rounded up once, all of it together, to {tariff.step_s} s"


def _nothing(offer, known, tariffs, window, stopped) -> Rental:
    other = "; ".join(alternatives(offer_tariffs(offer, tariffs), offer.lots, window))
    return Rental(
        offer,
        (),
        window,
        stopped,
        amount=None,
        stopped_amount=None,
        paid=ZERO,
        covers=False,
        reason=f"no package covers the window of {show_hours(window)}; {other}",
        grounds=f"{len(known)} package(s) priced",
    )
