"""The stage: from the calendar table and the attempts to calendar.csv and window.csv."""

from collections.abc import Sequence
from pathlib import Path

from atpar.calendar.current import offer_calendars
from atpar.calendar.table import CALENDAR, WINDOWS, calendar_rows, window_row
from atpar.calendar.tasks import read_tasks
from atpar.calendar.timeline import Entry, deadline_instant
from atpar.money.tables import write_table
from atpar.rows import read_rows


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
