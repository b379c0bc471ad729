"""The calendar as a picture: one line for each task, the passes of an offer on one line."""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import altair as alt

from atpar.report.charts import PALETTE, plot_width
from atpar.report.tables import Row
from atpar.report.values import instant

DRAWN_LINES = 60

CLOCK = {"hours": "%H:%M", "minutes": "%H:%M", "date": "%d %b", "day": "%a %d %b"}
"""How ticks at each unit of time are written: 24 hours, day before month."""

BASES = ("measured", "assumed", "forecast")


@dataclass(frozen=True)
class Bar:
    """One stretch of time on a line of the picture; instants in the calendar's own zone."""

    offer: str
    line: str
    start: str
    end: str
    basis: str


def bars(rows: list[Row]) -> list[Bar]:
    """Return the stretches of the calendar that have both ends, by offer and start.

    Empty when there are none, or more lines than a picture can show.
    """
    found = [
        Bar(row.get("offer", ""), _line(row), start, end, row.get("basis", ""))
        for row in rows
        if (start := _wall_time(row, "start")) and (end := _wall_time(row, "end"))
    ]
    if len({bar.line for bar in found}) > DRAWN_LINES:
        return []
    return sorted(found, key=lambda bar: (bar.offer, bar.start, bar.line))


def _line(row: Row) -> str:
    """Return the line a row is drawn on."""
    return f"{row.get('offer', '')} · {'passes' if row.get('pass') else row.get('task', '')}"


def _wall_time(row: Row, which: str) -> str | None:
    """Return the wall-clock time in the row's zone, without its offset; None without an instant.

    The axis shows the clock on the wall. Where the zone isn't known, it shows UTC.
    """
    try:
        moment = datetime.fromisoformat(row.get(f"{which}_utc", ""))
        zone = ZoneInfo(row.get("zone") or "UTC")
    except (ValueError, ZoneInfoNotFoundError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(zone).replace(tzinfo=None).isoformat()


def timeline_chart(shown: list[Bar], total: int) -> alt.LayerChart:
    """Return the bars; measured ones filled, assumed ones pale, forecasts as an outline."""
    lines = list(dict.fromkeys(bar.line for bar in shown))
    width, limit = plot_width(total, lines)
    # Wall-clock times go in as UTC and come out of a UTC scale as they are written.
    values = [{**vars(bar), "start": f"{bar.start}Z", "end": f"{bar.end}Z"} for bar in shown]
    colour = alt.Scale(domain=list(BASES), range=[PALETTE[0], PALETTE[3], PALETTE[1]])
    legend = alt.Legend(orient="bottom", title=None)
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_bar(cornerRadius=2, strokeWidth=1.5, height={"band": 0.7})
        .encode(
            x=alt.X(
                "start:T",
                title=None,
                scale=alt.Scale(type="utc"),
                axis=alt.Axis(tickCount=max(3, width // 90), labelOverlap=True, format=CLOCK),
            ),
            x2="end:T",
            y=alt.Y(
                "line:N",
                sort=lines,
                title=None,
                axis=alt.Axis(labelLimit=limit, ticks=False, domain=False),
            ),
            color=alt.Color("basis:N", scale=colour, legend=legend),
            stroke=alt.Stroke("basis:N", scale=colour, legend=legend),
            fillOpacity=alt.when("datum.basis == 'measured'")
            .then(alt.value(0.9))
            .when("datum.basis == 'assumed'")
            .then(alt.value(0.3))
            .otherwise(alt.value(0)),
        )
    )
    return alt.layer(chart).properties(width=width, height=alt.Step(26))


def describe(shown: list[Bar]) -> str:
    """Return the calendar in words."""
    first, last = min(bar.start for bar in shown), max(bar.end for bar in shown)
    return (
        f"From {instant(first)} to {instant(last)}, {len({bar.line for bar in shown})} lines. "
        "The table below holds every task."
    )
