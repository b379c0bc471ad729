"""The calendar as it stands: the plan, with what the attempts so far really took.

Light: it is imported while the Snakefile is parsed, and the spending cap is checked with it between
passes.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from atpar.calendar.measured import PassKey, pass_times
from atpar.calendar.tasks import Task, check_offers, offer_tasks
from atpar.calendar.timeline import Entry, PassTime, plan_offer


def next_hour(now: datetime | None = None) -> datetime:
    """Return the next full hour, in UTC: the start of a calendar that fixes none."""
    now = (now or datetime.now(UTC)).astimezone(UTC)
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


def calendars(
    tasks: Sequence[Task],
    passes: Iterable[PassTime],
    offers: Sequence[str],
    zone: str,
    origin: datetime,
    known: Sequence[str] | None = None,
) -> dict[str, list[Entry]]:
    """Return each offer's calendar; passes keep the order in which they are given.

    `known` are the names in the offers table, where `offers` are only some of them.
    """
    check_offers(tasks, known or offers)
    passes = list(passes)
    return {
        offer: [
            _of_offer(entry, offer)
            for entry in plan_offer(
                offer_tasks(tasks, offer),
                [one for one in passes if one.offer == offer],
                zone,
                origin,
            )
        ]
        for offer in offers
    }


def _of_offer(entry: Entry, offer: str) -> Entry:
    return Entry(**{**entry.__dict__, "offer": offer})


def offer_calendars(
    tasks: Sequence[Task],
    planned: Sequence[PassKey],
    attempts: Sequence[dict],
    offers: Sequence[str],
    zone: str,
    known: Sequence[str] | None = None,
    now: datetime | None = None,
) -> dict[str, list[Entry]]:
    """Return each offer's calendar with what its attempts took.

    Where no task has a fixed start, the offer's first pass stands at its actual start and the tasks
    before it are counted back from there; without any attempt the next full hour is the start.
    `known` are the names in the offers table, where `offers` are only some of them.
    """
    times = pass_times(planned, [row for row in attempts if row["offer"] in set(offers)])
    starts = [one.actual_start for one in times if one.actual_start]
    anywhere = min(starts, default=None)
    result: dict[str, list[Entry]] = {}
    for offer in offers:
        own = [one for one in times if one.offer == offer]
        first = min((one.actual_start for one in own if one.actual_start), default=anywhere)
        origin = next_hour(now) if first is None else first - _lead(tasks, own, offer, zone)
        result |= calendars(tasks, own, [offer], zone, origin, known=known or offers)
    return result


def _lead(tasks: Sequence[Task], passes: Sequence[PassTime], offer: str, zone: str) -> timedelta:
    """Return the planned time from the start of the calendar to the first pass."""
    origin = datetime(2000, 1, 1, tzinfo=UTC)
    entries = plan_offer(offer_tasks(tasks, offer), passes, zone, origin)
    start = min(entry.planned_start for entry in entries)
    return min(entry.planned_start for entry in entries if entry.kind == "passes") - start
