"""The stage: from the calendar table and the attempts to calendar.csv and window.csv."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from atpar.calendar.measured import PassKey, pass_times
from atpar.calendar.planned import calendars, next_hour
from atpar.calendar.table import CALENDAR, WINDOWS, calendar_rows, window_row
from atpar.calendar.tasks import Task, offer_tasks, read_tasks
from atpar.calendar.timeline import Entry, PassTime, deadline_instant, plan_offer
from atpar.money.tables import read_rows, write_table


def plan_calendar(
    tasks: str | Path,
    attempts: str | Path | None,
    calendar: str | Path,
    windows: str | Path,
    offers: Sequence[str],
    passes: Sequence[Sequence],
    zone: str,
    deadline: str | None,
) -> dict[str, list[Entry]]:
    """Write the calendar and the windows of all offers, and return the calendars.

    `passes` are [offer, variant, repetition] in the order in which they run; `attempts` is the
    attempts table, or None before the first pass.
    """
    rows = [] if attempts is None else read_rows(attempts, ["offer", "variant", "repetition"])
    planned = [(offer, variant, int(repetition)) for offer, variant, repetition in passes]
    found = offer_calendars(read_tasks(Path(tasks)), planned, rows, offers, zone)
    limit = deadline_instant(deadline, zone)
    write_table(calendar, calendar_rows(found), CALENDAR)
    write_table(
        windows,
        [window_row(offer, entries, zone, limit) for offer, entries in found.items()],
        WINDOWS,
    )
    return found


def offer_calendars(
    tasks: Sequence[Task],
    planned: Sequence[PassKey],
    attempts: Sequence[dict],
    offers: Sequence[str],
    zone: str,
) -> dict[str, list[Entry]]:
    """Return each offer's calendar with what its attempts took.

    Where no task has a fixed start, the offer's first pass stands at its actual start and the tasks
    before it are counted back from there; without any attempt the next full hour is the start.
    """
    times = pass_times(planned, [row for row in attempts if row["offer"] in set(offers)])
    starts = [one.actual_start for one in times if one.actual_start]
    anywhere = min(starts, default=None)
    result: dict[str, list[Entry]] = {}
    for offer in offers:
        own = [one for one in times if one.offer == offer]
        first = min((one.actual_start for one in own if one.actual_start), default=anywhere)
        origin = next_hour() if first is None else first - _lead(tasks, own, offer, zone)
        result |= calendars(tasks, own, [offer], zone, origin, known=offers)
    return result


def _lead(tasks: Sequence[Task], passes: Sequence[PassTime], offer: str, zone: str):
    """Return the planned time from the start of the calendar to the first pass."""
    origin = datetime(2000, 1, 1, tzinfo=UTC)
    entries = plan_offer(offer_tasks(tasks, offer), passes, zone, origin)
    start = min(entry.planned_start for entry in entries)
    return min(entry.planned_start for entry in entries if entry.kind == "passes") - start
