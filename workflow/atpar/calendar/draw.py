"""The stage behind the `calendar` target: the plan as a table, as iCalendar, and as a picture.

It can run before anything is rented: attempts are taken from the journals if there are any.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from atpar.calendar.current import offer_calendars
from atpar.calendar.export import draw_timeline, write_ics
from atpar.calendar.measured import as_row
from atpar.calendar.table import CALENDAR, calendar_rows
from atpar.calendar.tasks import read_tasks
from atpar.calendar.timeline import deadline_instant
from atpar.journal.attempts import read_attempts
from atpar.money.tables import write_table


def draw_calendar(
    tasks: str | Path,
    journals: Iterable[str | Path],
    calendar: str | Path,
    ics: str | Path,
    svg: str | Path,
    png: str | Path,
    campaign: str,
    offers: Sequence[str],
    passes: Sequence[Sequence],
    zone: str,
    deadline: str | None,
) -> None:
    """Write the calendar of all offers in four forms; `passes` as in `plan_calendar`."""
    attempts = [as_row(record) for path in journals for record in read_attempts(path)]
    planned = [(offer, variant, int(repetition)) for offer, variant, repetition in passes]
    found = offer_calendars(read_tasks(Path(tasks)), planned, attempts, offers, zone)
    write_table(calendar, calendar_rows(found), CALENDAR)
    write_ics(ics, found, campaign, deadline_instant(deadline, zone))
    draw_timeline(svg, png, found, zone)
