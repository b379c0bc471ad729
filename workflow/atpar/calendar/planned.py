"""The plan in the dry run: each pass's place in the calendar, the window, what covers it.

Light: it is imported while the Snakefile is parsed. The stage `plan_calendar` computes with the
same functions.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Protocol

from atpar.calendar.current import offer_calendars
from atpar.calendar.tasks import read_tasks
from atpar.calendar.timeline import Entry, Window, deadline_instant, local_text, window_of
from atpar.config.load import Plan
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff, alternatives, candidates, hours, show_hours
from atpar.money.priced import engaged_tariffs, load_tariffs, offer_tariffs, old_prices
from atpar.protocol.schedule import schedule


class Place(Protocol):
    """One pass of the schedule."""

    offer: str
    variant: str
    repetition: int


def plan_calendars(
    plan: Plan,
    places: Iterable[Place] | None = None,
    folder: Path = Path(),
    now: datetime | None = None,
    attempts: Sequence[dict] = (),
) -> dict[str, list[Entry]]:
    """Return the calendars as they are planned, with what `attempts` took in place of assumptions.

    `places` are the scheduled passes; None: those of every offer, wherever it is measured. Paths
    are relative to `folder`; `attempts` are rows as `measured.as_row` gives them. Where there are
    some, the passes to come start now.
    """
    tasks = read_tasks(folder / plan.campaign.tables.calendar)
    offers = [offer.offer for offer in plan.offers]
    if places is None:
        variants = [variant.variant for variant in plan.variants]
        places = schedule(offers, variants, plan.repetitions, plan.resumed)
    planned = [(one.offer, one.variant, one.repetition) for one in places]
    now = now or datetime.now(UTC)
    return offer_calendars(tasks, planned, attempts, offers, plan.campaign.protocol.zone, now=now)


def planned_starts(
    plan: Plan,
    places: Iterable[Place] | None = None,
    folder: Path = Path(),
    now: datetime | None = None,
    attempts: Sequence[dict] = (),
) -> dict[tuple[str, str, int], tuple[datetime, datetime, str]]:
    """Return (offer, variant, repetition) -> (start, end, local text) of every scheduled pass.

    Instants are in UTC; the text is in the calendar's zone: `Mon 2026-12-07 09:10 UTC to 09:12`.
    """
    starts = {}
    for entries in plan_calendars(plan, places, folder, now, attempts).values():
        for entry in entries:
            if entry.passed is not None:
                key = (entry.offer, entry.passed.variant, entry.passed.repetition)
                text = local_text(entry.start, entry.zone)
                until = local_text(entry.end, entry.zone).split()[2]
                starts[key] = (entry.start, entry.end, f"{text} to {until}")
    return starts


def window_summary(
    plan: Plan,
    places: Iterable[Place] | None = None,
    folder: Path = Path(),
    now: datetime | None = None,
    tariffs: Sequence[Tariff] | None = None,
    attempts: Sequence[dict] = (),
) -> str:
    """Return the window of each offer, what covers it and what that costs, as text."""
    now = now or datetime.now(UTC)
    if tariffs is None:
        tariffs = load_tariffs(plan.campaign.tables.tariffs, folder)
    zone = plan.campaign.protocol.zone
    lines = ["Calendar and candidates (planned):"]
    for name, entries in plan_calendars(plan, places, folder, now, attempts).items():
        offer, window = plan.offer(name), window_of(entries)
        lines.append(
            f"{name}: {local_text(window.start, zone)} to {local_text(window.end, zone)}, "
            f"{show_hours(window.length)} ({_passes(entries)}; {show_hours(window.idle)} idle)"
        )
        lines += [f"  {line}" for line in describe_candidates(offer, window, tariffs)]
        lines += [f"  {line}" for line in _around(offer, window, tariffs, zone)]
        lines += [f"  {line}" for line in describe_deadline(plan, entries)]
        lines += [f"  {line}" for line in _old(offer, tariffs, now.date(), plan)]
    if not any(task.start for task in read_tasks(folder / plan.campaign.tables.calendar)):
        start = (
            "is counted from the first pass measured"
            if attempts
            else "starts at the next full hour"
        )
        lines.append(f"No task has a fixed start, so the calendar {start}.")
    return "\n".join(lines)


def _passes(entries: Sequence[Entry]) -> str:
    """Return how many passes there are, and where their times come from once some are measured."""
    bases = Counter(entry.basis for entry in entries if entry.passed is not None)
    text = f"{bases.total()} passes"
    if bases["measured"]:
        text += f", {bases['measured']} measured"
        text += f", {bases['forecast']} forecast from these" if bases["forecast"] else ""
    return text


def describe_candidates(offer: Offer, window: Window, tariffs: Sequence[Tariff]) -> list[str]:
    """Return a line for each candidate, then the alternatives if no package covers the window."""
    known = offer_tariffs(offer, tariffs)
    found = candidates(known, offer.lots, window.length, window.stopped)
    lines = [f"candidate: {one.describe()}" for one in found]
    if not any(one.tariff.billing == "package" for one in found):
        other = alternatives(known, offer.lots, window.length)
        if other:
            lines.append("no package covers the window; nothing is extended by itself:")
            lines += [f"- {line}" for line in other]
    return lines


def _around(offer: Offer, window: Window, tariffs: Sequence[Tariff], zone: str) -> list[str]:
    """Return when to order, and how long the rental could be given back within the window."""
    leads = [one.lead_time_h for one in engaged_tariffs(offer, tariffs) if one.lead_time_h]
    lines = []
    if leads:
        order = local_text(window.start - hours(max(leads)), zone)
        lines.append(f"order by {order} (lead time {show_hours(hours(max(leads)))})")
    if window.released:
        lines.append(
            f"the rental isn't needed for {show_hours(window.released)} inside the window, and is "
            "paid meanwhile; given back then, it is several rentals, each priced for itself"
        )
    return lines


def describe_deadline(plan: Plan, entries: Sequence[Entry]) -> list[str]:
    """Return the slack before the deadline as a line; nothing without a deadline."""
    zone = plan.campaign.protocol.zone
    deadline = deadline_instant(plan.campaign.protocol.deadline, zone)
    if deadline is None:
        return []
    slack = deadline - max(entry.end for entry in entries)
    text = local_text(deadline, zone)
    if slack >= timedelta():
        return [f"deadline {text}: {show_hours(slack)} slack"]
    return [f"MISSES the deadline {text} by {show_hours(-slack)}"]


def _old(offer: Offer, tariffs: Sequence[Tariff], day: date, plan: Plan) -> list[str]:
    engaged = engaged_tariffs(offer, tariffs)
    age_days = plan.campaign.money.price_age_days
    return [f"old price: {text}" for text in old_prices(engaged, day, age_days)]
