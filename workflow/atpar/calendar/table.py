"""The calendar as tables: one row a task or pass, and one row a window."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pandas as pa

from atpar.calendar.timeline import Entry, local_text, window_of
from atpar.money.calculator import in_hours
from atpar.money.tables import INSTANT, NUMBER, TRUTH, column

DEFINITION = 1
"""Version of how windows and durations are derived."""

CALENDAR = pa.DataFrameSchema(
    {
        "offer": column("the offer whose rental it is"),
        "task": column("task of the calendar table"),
        "kind": column("work, wait or passes", pa.Check.isin(["work", "wait", "passes"])),
        "pass": column("offer/variant/repetition, on the lines of passes", missing=True),
        "duration_h": column("hours it takes", NUMBER),
        "basis": column(
            "where the duration comes from", pa.Check.isin(["assumed", "measured", "forecast"])
        ),
        "start_utc": column("start, with what is measured in place", INSTANT),
        "end_utc": column("end, with what is measured in place", INSTANT),
        "start_local": column("the same start on the wall clock"),
        "end_local": column("the same end on the wall clock"),
        "zone": column("time zone of the wall clock"),
        "planned_duration_h": column("hours as first assumed", NUMBER),
        "planned_start_utc": column("start, all durations as first assumed", INSTANT),
        "planned_end_utc": column("end, all durations as first assumed", INSTANT),
        "actual_start_utc": column("start of the pass's first attempt", INSTANT, missing=True),
        "actual_end_utc": column("end of the pass's last attempt", INSTANT, missing=True),
        "attempts": column("attempts of the pass so far", NUMBER, missing=True),
        "rental": column("the rental meanwhile", pa.Check.isin(["kept", "stopped", "released"])),
        "kept_rental": column("is the rental kept (running or stopped) meanwhile?", TRUTH),
        "definition": column("version of the definition", NUMBER),
    },
    strict=True,
)

WINDOWS = pa.DataFrameSchema(
    {
        "offer": column("the offer", unique=True),
        "start_utc": column("first start of what needs the rental", INSTANT),
        "end_utc": column("last end of what needs the rental", INSTANT),
        "start_local": column("the same start on the wall clock"),
        "end_local": column("the same end on the wall clock"),
        "zone": column("the protocol's time zone"),
        "window_h": column("hours from start to end [P26]", NUMBER),
        "busy_h": column("hours in which a task runs, overlaps once", NUMBER),
        "idle_h": column("hours in which nothing is planned", NUMBER),
        "stopped_h": column("hours in which the rental is stopped", NUMBER),
        "released_h": column("hours in which it could be given back", NUMBER, missing=True),
        "planned_window_h": column("the window as first assumed", NUMBER),
        "actual_start_utc": column("start of the first attempt", INSTANT, missing=True),
        "actual_end_utc": column("end of the last attempt", INSTANT, missing=True),
        "ends_utc": column("end of the last task, on the rental or off it", INSTANT),
        "deadline_utc": column("the protocol's deadline", INSTANT, missing=True),
        "slack_h": column("hours from the last end to the deadline", NUMBER, missing=True),
        "meets_deadline": column("is the last end at or before the deadline?", TRUTH, missing=True),
        "definition": column("version of the definition", NUMBER),
    },
    strict=True,
)


def utc_text(moment: datetime | None) -> str | None:
    """Return an instant as `2026-12-07T09:00:00Z`, with microseconds if it has any."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def hours_text(duration: timedelta) -> str:
    """Return a duration as hours with six decimals (3.6 ms)."""
    return f"{float(in_hours(duration)):.6f}"


def calendar_row(entry: Entry) -> dict[str, Any]:
    """Return one line of the calendar table."""
    passed = entry.passed
    return {
        "offer": entry.offer,
        "task": entry.task,
        "kind": entry.kind,
        "pass": passed.name if passed else None,
        "duration_h": hours_text(entry.duration),
        "basis": entry.basis,
        "start_utc": utc_text(entry.start),
        "end_utc": utc_text(entry.end),
        "start_local": local_text(entry.start, entry.zone),
        "end_local": local_text(entry.end, entry.zone),
        "zone": entry.zone,
        "planned_duration_h": hours_text(entry.planned_end - entry.planned_start),
        "planned_start_utc": utc_text(entry.planned_start),
        "planned_end_utc": utc_text(entry.planned_end),
        "actual_start_utc": utc_text(passed.actual_start) if passed else None,
        "actual_end_utc": utc_text(passed.actual_end) if passed else None,
        "attempts": str(passed.attempts) if passed else None,
        "rental": entry.rental,
        "kept_rental": entry.kept,
        "definition": DEFINITION,
    }


def window_row(
    offer: str, entries: Iterable[Entry], zone: str, deadline: datetime | None
) -> dict[str, Any]:
    """Return one line of the windows table."""
    entries = list(entries)
    window = window_of(entries)
    kept = [entry for entry in entries if entry.kept]
    first, last = min(one.planned_start for one in kept), max(one.planned_end for one in kept)
    passes = [entry.passed for entry in entries if entry.passed]
    ends = max(entry.end for entry in entries)
    slack = None if deadline is None else deadline - ends
    return {
        "offer": offer,
        "start_utc": utc_text(window.start),
        "end_utc": utc_text(window.end),
        "start_local": local_text(window.start, zone),
        "end_local": local_text(window.end, zone),
        "zone": zone,
        "window_h": hours_text(window.length),
        "busy_h": hours_text(window.busy),
        "idle_h": hours_text(window.idle),
        "stopped_h": hours_text(window.stopped),
        "released_h": hours_text(window.released),
        "planned_window_h": hours_text(last - first),
        "actual_start_utc": utc_text(
            min((one.actual_start for one in passes if one.actual_start), default=None)
        ),
        "actual_end_utc": utc_text(
            max((one.actual_end for one in passes if one.actual_end), default=None)
        ),
        "ends_utc": utc_text(ends),
        "deadline_utc": utc_text(deadline),
        "slack_h": None if slack is None else hours_text(slack),
        "meets_deadline": None if slack is None else slack >= timedelta(),
        "definition": DEFINITION,
    }


def calendar_rows(calendars: Mapping[str, Iterable[Entry]]) -> list[dict[str, Any]]:
    """Return the lines of all offers' calendars."""
    return [calendar_row(entry) for entries in calendars.values() for entry in entries]
