"""The calendar for a person's own calendar (iCalendar), and as a picture."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import altair as alt
import pandas as pd
from icalendar import Calendar, Event

from atpar.calendar.timeline import Entry, local_text, window_of
from atpar.canonical import digest, whole_file
from atpar.money.calculator import find_zone, show_hours

Calendars = Mapping[str, Sequence[Entry]]
COLOURS = {
    "measured": "#1b7837",
    "forecast": "#5aae61",
    "assumed": "#9ecae1",
    "rental not kept": "#d9d9d9",
}


def write_ics(path: str | Path, calendars: Calendars, campaign: str, deadline: datetime | None):
    """Write every task, every pass, each offer's window and the deadline as events, in UTC.

    An event keeps its identity from one export to the next, so that importing again moves it.
    """
    calendar = Calendar()
    calendar.add("prodid", "-//atpar//rental calendar//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", f"atpar {campaign}")
    for offer, entries in calendars.items():
        window = window_of(entries)
        calendar.add_component(
            _event(
                (campaign, offer, "window"),
                f"{offer}: rental needed, {show_hours(window.length)}",
                window.start,
                window.end,
                f"{show_hours(window.idle)} of it idle",
                transparent=True,
            )
        )
        for entry in entries:
            calendar.add_component(_entry_event(campaign, entry))
    if deadline is not None:
        calendar.add_component(
            _event((campaign, "deadline"), f"{campaign}: deadline", deadline, deadline, "")
        )
    with whole_file(path) as temporary:
        temporary.write_bytes(calendar.to_ical())


def _entry_event(campaign: str, entry: Entry) -> Event:
    name = entry.passed.name if entry.passed else entry.task
    said = f"{entry.basis} duration; rental {entry.rental}"
    title = f"{entry.offer}: {entry.task}"
    if entry.passed:
        title += f" {entry.passed.variant} #{entry.passed.repetition}"
    return _event((campaign, entry.offer, name), title, entry.start, entry.end, said)


def _event(
    identity: tuple[str, ...],
    title: str,
    start: datetime,
    end: datetime,
    text: str,
    *,
    transparent: bool = False,
) -> Event:
    event = Event()
    event.add("uid", f"{digest(identity)[:32]}@atpar")
    event.add("summary", title)
    # The stamp follows the content, so that the same calendar gives the same bytes.
    event.add("dtstamp", start)
    event.add("dtstart", start)
    event.add("dtend", end)
    if text:
        event.add("description", text)
    event.add("transp", "TRANSPARENT" if transparent else "OPAQUE")
    return event


def draw_timeline(svg: str | Path, png: str | Path, calendars: Calendars, zone: str) -> None:
    """Draw each offer's tasks and passes over time, coloured by where the duration comes from."""
    chart = timeline_chart(calendars, zone)
    for path in (svg, png):
        with whole_file(path) as temporary:
            # The format is named, because the temporary file's name doesn't tell it.
            chart.save(str(temporary), format=Path(path).suffix[1:], ppi=144)


def timeline_chart(calendars: Calendars, zone: str) -> alt.Chart:
    """Return the chart; the wall clock is that of `zone`."""
    rows = [_bar(entry, zone) for entries in calendars.values() for entry in entries]
    table = pd.DataFrame(rows)
    order = list(dict.fromkeys(row["row"] for row in rows))
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    bars = alt.Chart(table).mark_bar(stroke="white", strokeWidth=0.5).encode(
        x=alt.X("start:T", title=f"time in {zone}", axis=alt.Axis(format="%a %d %b %H:%M",
                                                                   labelOverlap="greedy")),
        x2="end:T",
        y=alt.Y("row:N", sort=order, title=None, axis=alt.Axis(labelLimit=280)),
        color=alt.Color("basis:N", scale=scale, title="duration"),
        tooltip=["title", "basis", "from", "to", "hours"],
    )  # fmt: skip
    titles = [
        f"{offer}: {show_hours(window.length)} from {local_text(window.start, zone)}"
        for offer, window in ((one, window_of(entries)) for one, entries in calendars.items())
    ]
    return bars.properties(width=720, title={"text": "Rental windows", "subtitle": titles})


def _bar(entry: Entry, zone: str) -> dict[str, object]:
    title = entry.passed.name if entry.passed else f"{entry.offer} {entry.task}"
    return {
        "row": f"{entry.offer} · {entry.task}",
        "title": title,
        "basis": entry.basis if entry.kept else "rental not kept",
        "start": _wall(entry.start, zone),
        "end": _wall(entry.end, zone),
        "from": local_text(entry.start, zone),
        "to": local_text(entry.end, zone),
        "hours": show_hours(entry.duration),
    }


def _wall(moment: datetime, zone: str) -> str:
    """Return the wall clock's reading without its offset: charts then show it as it is."""
    return moment.astimezone(find_zone(zone)).replace(tzinfo=None).isoformat()
