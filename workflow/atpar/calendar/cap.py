"""The cap on what the campaign itself spends (`money.campaign_cap`): before it, and between passes.

Light: it is checked while the Snakefile is parsed, and before each pass.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from atpar.calendar.current import offer_calendars
from atpar.calendar.measured import as_row
from atpar.calendar.planned import Place, plan_calendars
from atpar.calendar.tasks import read_tasks
from atpar.calendar.timeline import Entry, window_of
from atpar.config.load import Plan, load_plan
from atpar.config.offers import Offer
from atpar.errors import AtparError
from atpar.journal.attempts import read_attempts
from atpar.money.calculator import Tariff
from atpar.money.expenses import plan_expenses
from atpar.money.ledger import STOPPED, STORAGE, TRANSFER, Books, ledger_rows
from atpar.money.priced import load_tariffs
from atpar.money.rental import engage

ZERO = Decimal("0.00")


@dataclass(frozen=True)
class Engaged:
    """What some offers engage."""

    known: Decimal
    """The sum of all known amounts, in the balance's currency."""
    uncovered: list[str]
    """Offers whose window nothing priced covers."""
    unpriced: list[str]
    """What is needed by the plan and has no price, as `offer: item (reason)`."""


def check_cap(
    plan: Plan,
    places: Iterable[Place] | None = None,
    folder: Path = Path(),
    now: datetime | None = None,
) -> None:
    """Raise AtparError if the campaign as planned engages more than its cap.

    Also where no package covers a window, or something that the plan states has no price: what that
    costs isn't known, so it can't be under a cap.
    """
    cap = _cap(plan)
    if cap is None:
        return
    engaged = engaged_cost(plan, plan_calendars(plan, places, folder, now), folder)
    if engaged.uncovered:
        raise AtparError(
            f"money.campaign_cap is {cap}, but nothing priced covers the calendar of "
            f"{', '.join(engaged.uncovered)}; change the calendar or the offer"
        )
    if engaged.unpriced:
        raise AtparError(
            f"money.campaign_cap is {cap}, but these have no price: {'; '.join(engaged.unpriced)}. "
            "Give the price in the tariff file (0 where it costs nothing), or leave the cap out"
        )
    if engaged.known > cap:
        raise AtparError(
            f"the campaign as planned engages {engaged.known} {plan.campaign.money.currency}, more "
            f"than money.campaign_cap ({cap}); plan fewer passes or offers, or raise the cap"
        )


def cap_reached(
    config: Mapping[str, Any], results: str | Path, offer: str, variant: str, repetition: int
) -> str | None:
    """Return why the next pass may not start under the cap, or None.

    What every offer's attempts so far have engaged, this pass and what follows the passes (fetching
    has to be paid too) must stay within the cap. Nothing is engaged by an offer without an attempt.
    """
    if (config.get("money") or {}).get("campaign_cap") is None:
        return None
    plan = load_plan(config)
    cap = _cap(plan)
    rows = [
        as_row(record)
        for path in sorted(Path(results, "journal").glob("*.jsonl"))
        for record in read_attempts(path)
    ]
    tried = [(row["offer"], row["variant"], int(row["repetition"])) for row in rows]
    known = {one.offer for one in plan.offers}
    coming = (offer, variant, repetition)
    # Another attempt at a pass takes its time once more: it is planned as one of its own.
    coming = (offer, variant, 0) if coming in tried else coming
    passes = [key for key in dict.fromkeys([*tried, coming]) if key[0] in known]
    calendars = offer_calendars(
        read_tasks(Path(plan.campaign.tables.calendar)),
        passes,
        rows,
        sorted({name for name, _, _ in passes}),
        plan.campaign.protocol.zone,
        known=sorted(known),
    )
    engaged = engaged_cost(plan, calendars)
    if engaged.uncovered:
        return f"nothing priced covers the window of {', '.join(engaged.uncovered)} any more"
    if engaged.unpriced:
        return f"under a cap all needs a price, and these have none: {'; '.join(engaged.unpriced)}"
    if engaged.known > cap:
        return (
            f"with this pass the campaign would engage {engaged.known} "
            f"{plan.campaign.money.currency}, more than money.campaign_cap ({cap})"
        )
    return None


def refuse_over_cap(
    config: Mapping[str, Any], results: str | Path, offer: str, variant: str, repetition: int | str
) -> None:
    """Raise AtparError if the next pass may not start under the cap: nothing is attempted then."""
    reason = cap_reached(config, results, offer, variant, int(repetition))
    if reason is not None:
        raise AtparError(
            f"{offer}/{variant}/{repetition} isn't started: {reason}. What is measured stays; "
            "raise the cap, or plan fewer passes"
        )


def engaged_cost(
    plan: Plan, calendars: Mapping[str, list[Entry]], folder: Path = Path()
) -> Engaged:
    """Return what the offers of `calendars` engage.

    What the tables don't state (disk, transfer, an expense of another offer) isn't counted.
    """
    money = plan.campaign.money
    books = Books(money.currency, money.rates)
    tariffs: list[Tariff] = load_tariffs(plan.campaign.tables.tariffs, folder)
    expenses = plan_expenses(plan, folder)
    cost, uncovered, unpriced = ZERO, [], []
    for name, entries in calendars.items():
        offer, window = plan.offer(name), window_of(entries)
        rental = engage(offer, tariffs, window.length, window.stopped)
        # As the ledger will hold it: rental, stopped time, storage, transfer, other expenses.
        rows = ledger_rows([rental], {}, expenses, books)
        cost += sum((row.get("amount") or ZERO for row in rows), ZERO)
        if rental.amount is None or not rental.covers:
            uncovered.append(name)
        else:
            needed = _needed(offer)
            unpriced += [
                f"{name}: {row['item']} ({row['amount_reason']})"
                for row in rows
                if row.get("amount") is None and row["item"] in needed
            ]
    return Engaged(cost, uncovered, unpriced)


def _needed(offer: Offer) -> set[str]:
    """Return the items of the ledger that an offer needs by its tables, priced or not."""
    stated = {STORAGE: offer.storage_gb, TRANSFER: offer.egress_gb}
    return {STOPPED, *(item for item, amount in stated.items() if amount is not None)}


def _cap(plan: Plan) -> Decimal | None:
    text = plan.campaign.money.campaign_cap
    return None if text is None else Decimal(text)
