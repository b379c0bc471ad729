"""Cost against load: where the lines cross, another option or another billing is cheapest."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import altair as alt

from atpar.report.charts import PALETTE, SHAPES, series_style
from atpar.report.tables import Row
from atpar.report.values import as_float

DRAWN_WAYS = min(len(PALETTE), len(SHAPES))
"""More ways of doing the work aren't drawn, so that each keeps a colour and a shape of its own."""
SIGNS = 8
"""Every so many loads a line carries its shape: one sign a decade."""


@dataclass(frozen=True)
class Point:
    """What a load costs in one way: an option under one kind of billing."""

    way: str
    entries: int
    amount: float
    low: float
    high: float


def points(rows: Sequence[Row]) -> list[Point]:
    """Return the rows of breakeven.csv that hold all their figures."""
    found = []
    for row in rows:
        names = ("entries", "amount", "amount_low", "amount_high")
        figures = [as_float(row.get(name)) for name in names]
        if None not in figures and min(figures) > 0:
            way = f"{row.get('offer')} · {row.get('variant')} · {row.get('billing')}"
            found.append(Point(way, int(figures[0]), *figures[1:]))
    return found


def drawn(found: Sequence[Point]) -> list[str]:
    """Return the ways that are drawn: first those that are cheapest at most loads, then cheap ones.

    Cheap is told by the amounts at all loads, each relative to the least there.
    """
    wins: dict[str, int] = {}
    dearness: dict[str, float] = {}
    by_load = sorted(found, key=lambda one: (one.entries, one.amount, one.way))
    for _, group in groupby(by_load, key=lambda one: one.entries):
        ranked = list(group)
        wins[ranked[0].way] = wins.get(ranked[0].way, 0) + 1
        for one in ranked:
            dearness[one.way] = dearness.get(one.way, 0.0) + one.amount / ranked[0].amount
    order = sorted(dearness, key=lambda way: (-wins.get(way, 0), dearness[way], way))
    return order[:DRAWN_WAYS]


def breakeven_chart(found: Sequence[Point], currency: str, width: int) -> alt.LayerChart:
    """Return cost against load on logarithmic axes, a line with its band for each drawn way."""
    names = drawn(found)
    values = [vars(one) for one in found if one.way in names]
    loads = sorted({one.entries for one in found})
    signed = [value for value in values if value["entries"] in loads[::SIGNS]]
    colour, shape = series_style(names)
    legend = alt.Legend(orient="bottom", columns=1, title=None, labelLimit=width, symbolOpacity=1)
    load = alt.X(
        "entries:Q",
        title="entries",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~s", tickCount=6),
    )

    def cost(field: str) -> alt.Y:
        return alt.Y(
            f"{field}:Q",
            title=f"cost of the load, {currency}",
            scale=alt.Scale(type="log"),
            # One line a decade: a logarithmic axis would draw nine.
            axis=alt.Axis(format=",~f", values=[10.0**power for power in range(-2, 13)]),
        )

    base = alt.Chart(alt.Data(values=values))
    layers = [
        base.mark_area(opacity=0.14).encode(
            x=load, y=cost("low"), y2="high:Q",
            color=alt.Color("way:N", scale=colour, legend=legend),
        ),
        base.mark_line(strokeWidth=2).encode(
            x=load, y=cost("amount"), color=alt.Color("way:N", scale=colour, legend=legend)
        ),
        alt.Chart(alt.Data(values=signed)).mark_point(size=52, strokeWidth=2).encode(
            x=load, y=cost("amount"), color=alt.Color("way:N", scale=colour, legend=legend),
            shape=alt.Shape("way:N", scale=shape, legend=legend),
        ),
    ]  # fmt: skip
    return alt.layer(*layers).properties(width=width, height=300)
