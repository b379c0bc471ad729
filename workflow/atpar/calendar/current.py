"""The calendar as it stands: the plan, with what the attempts so far really took.

Light: it is imported while the Snakefile is parsed, and the spending cap is checked with it between
passes.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from atpar.calendar.measured import PassKey, pass_times
from atpar.calendar.tasks import Task, check_offers, offer_tasks
from atpar.calendar.timeline import Entry, PassTime, deadline_instant, plan_offer
from atpar.config.protocol import Protocol
from atpar.errors import AtparError
from atpar.money.calculator import PriceError, find_zone


def check_deadline(protocol: Protocol) -> None:
    """Refuse a zone that is none, and a deadline that is no time there.

    To be asked before the protocol is sealed: a sealed deadline can't be mended. Raises AtparError.
    """
    try:
        find_zone(protocol.zone)
    except PriceError as error:
        raise AtparError(f"protocol.zone: {error}") from None
    deadline_instant(protocol.deadline, protocol.zone)


def next_hour(now: datetime | None = None) -> datetime:
    """Return the next full hour, in UTC: the start of a calendar that fixes none."""
    now = (now or datetime.now(UTC)).astimezone(UTC)
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


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
    With `now`, passes that weren't attempted follow the attempted ones, from `now` on.
    `known` are the names in the offers table, where `offers` are only some of them.
    """
    check_offers(tasks, known or offers)
    times = pass_times(planned, [row for row in attempts if row["offer"] in set(offers)])
    anywhere = min((one.actual_start for one in times if one.actual_start), default=None)
    result: dict[str, list[Entry]] = {}
    for offer in offers:
        own = [one for one in times if one.offer == offer]
        tried = [one for one in own if one.attempts]
        resumed = now if tried else None
        if resumed:
            own = [*tried, *(one for one in own if not one.attempts)]
        starts = [one.actual_start for one in own if one.actual_start]
        first = min(starts, default=anywhere and max(anywhere, now or anywhere))
        try:
            origin = next_hour(now) if first is None else first - _lead(tasks, own, offer, zone)
            entries = plan_offer(offer_tasks(tasks, offer), own, zone, origin, resumed)
        except OverflowError:
            raise AtparError(
                f"calendar: the tasks of offer {offer!r} last beyond the year 9999; shorten their "
                "durations"
            ) from None
        result[offer] = [replace(entry, offer=offer) for entry in entries]
    return result


def _lead(tasks: Sequence[Task], passes: Sequence[PassTime], offer: str, zone: str) -> timedelta:
    """Return the planned time from the start of the calendar to the first pass."""
    origin = datetime(2000, 1, 1, tzinfo=UTC)
    entries = plan_offer(offer_tasks(tasks, offer), passes, zone, origin)
    start = min(entry.planned_start for entry in entries)
    return min(entry.planned_start for entry in entries if entry.kind == "passes") - start
