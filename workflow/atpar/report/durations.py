"""Charts of the measured durations: every pass is a dot, in the order in which it was measured."""

from dataclasses import dataclass

import altair as alt

from atpar.report.charts import plot_width, series_style
from atpar.report.tables import Row
from atpar.report.values import as_float, is_true, seconds

DRAWN_OPTIONS = 60
"""More options than this aren't drawn: the table holds them all."""


@dataclass(frozen=True)
class Pass:
    """One attempt as the charts need it."""

    offer: str
    variant: str
    repetition: int
    started: str
    main_time_s: float | None
    state: str

    @property
    def option(self) -> str:
        """Return the option's name."""
        return f"{self.offer} · {self.variant}"


COUNTED, EXCLUDED, FAILED = "counted", "excluded", "no duration"


def passes(attempts: list[Row]) -> list[Pass]:
    """Return the attempts in the order in which they started, offer by offer."""
    found = [
        Pass(
            offer=row.get("offer", ""),
            variant=row.get("variant", ""),
            repetition=int(as_float(row.get("repetition")) or 0),
            started=row.get("started_utc", ""),
            main_time_s=as_float(row.get("main_time_s")) if row.get("status") == "ok" else None,
            state=_state(row),
        )
        for row in attempts
    ]
    return sorted(found, key=lambda one: (one.offer, one.started))


def _state(row: Row) -> str:
    if row.get("status") != "ok" or as_float(row.get("main_time_s")) is None:
        return FAILED
    return EXCLUDED if is_true(row.get("excluded")) else COUNTED


def strip_chart(shown: list[Pass], options: list[str], total: int) -> alt.LayerChart:
    """Return one row for each option with a dot for each pass, first measured on top.

    A line across marks the median of the counted passes, a band their range; a pass without a
    duration is a cross at the left, an excluded one is hollow.
    """
    width, limit = plot_width(total, options)
    lanes: dict[str, int] = {}
    dots = []
    for one in shown:
        lanes[one.option] = lanes.get(one.option, 0) + 1
        dots.append(
            {
                "option": one.option,
                "variant": one.variant,
                "lane": lanes[one.option],
                "seconds": one.main_time_s,
                "state": one.state,
                "repetition": one.repetition,
            }
        )
    most = max(lanes.values(), default=1)
    height = max(16 * most, 44) if len(options) <= 12 else 9 * most
    variants = list(dict.fromkeys(one.variant for one in shown))
    colour, shape = series_style(variants)
    row = alt.Y(
        "option:N",
        sort=options,
        title=None,
        axis=alt.Axis(labelLimit=limit, ticks=False, domain=False, grid=False),
        scale=alt.Scale(paddingInner=0.25, paddingOuter=0.12),
    )
    lane = alt.YOffset("lane:O", sort=list(range(1, most + 1)))
    across = alt.X(
        "seconds:Q", title="seconds (main time of a pass)", axis=alt.Axis(tickCount=width // 80)
    )
    measured = [dot for dot in dots if dot["state"] != FAILED]
    counted = [dot for dot in dots if dot["state"] == COUNTED]
    failed = [{**dot, "seconds": 0, "sign": "✕ no duration"} for dot in dots if dot not in measured]
    base = alt.Chart(alt.Data(values=counted))
    layers = [
        base.mark_bar(opacity=0.16, cornerRadius=3).encode(
            x=alt.X("min(seconds):Q", title="seconds (main time of a pass)"),
            x2="max(seconds):Q",
            y=row,
            color=alt.Color("variant:N", scale=colour, legend=None),
        ),
        base.mark_tick(thickness=2, size=int(0.7 * height), color="#808890").encode(
            x="median(seconds):Q", y=row
        ),
        alt.Chart(alt.Data(values=measured))
        .mark_point(size=62, strokeWidth=2)
        .encode(
            x=across,
            y=row,
            yOffset=lane,
            color=alt.Color("variant:N", scale=colour, legend=None),
            shape=alt.Shape("variant:N", scale=shape, legend=None),
            fillOpacity=alt.condition("datum.state == 'counted'", alt.value(0.9), alt.value(0)),
            fill=alt.Fill("variant:N", scale=colour, legend=None),
        ),
        alt.Chart(alt.Data(values=failed))
        .mark_text(align="left", dx=4)
        .encode(x="seconds:Q", y=row, yOffset=lane, text="sign:N"),
    ]
    return alt.layer(*layers).properties(
        width=width, height=alt.Step(height, **{"for": "position"})
    )


def order_chart(shown: list[Pass], width: int) -> alt.VConcatChart:
    """Return, for each offer, the durations against their place in the order of measurement."""
    variants = list(dict.fromkeys(one.variant for one in shown))
    colour, shape = series_style(variants)
    parts = []
    for offer in dict.fromkeys(one.offer for one in shown):
        dots = [
            {
                "place": place,
                "variant": one.variant,
                "seconds": one.main_time_s,
                "state": one.state,
            }
            for place, one in enumerate((one for one in shown if one.offer == offer), start=1)
        ]
        parts.append(_offer_order(offer, dots, colour, shape, width))
    return alt.vconcat(*parts, spacing=18)


def _offer_order(
    offer: str, dots: list[dict], colour: alt.Scale, shape: alt.Scale, width: int
) -> alt.LayerChart:
    legend = alt.Legend(orient="bottom", columns=max(1, width // 150), title=None, symbolOpacity=1)
    place = alt.X(
        "place:Q",
        title="place in the order of measurement",
        axis=alt.Axis(format="d", tickMinStep=1, tickCount=min(len(dots), width // 40)),
        scale=alt.Scale(domain=[0.5, len(dots) + 0.5], nice=False),
    )
    height = alt.Y("seconds:Q", title="seconds", scale=alt.Scale(zero=False, padding=8))
    measured = alt.Chart(alt.Data(values=[dot for dot in dots if dot["state"] != FAILED]))
    failed = alt.Chart(alt.Data(values=[dot for dot in dots if dot["state"] == FAILED]))
    layers = [
        measured.mark_line(strokeWidth=1, opacity=0.45).encode(
            x=place, y=height, color=alt.Color("variant:N", scale=colour, legend=legend)
        ),
        measured.mark_point(size=62, strokeWidth=2).encode(
            x=place,
            y=height,
            color=alt.Color("variant:N", scale=colour, legend=legend),
            shape=alt.Shape("variant:N", scale=shape, legend=legend),
            fill=alt.Fill("variant:N", scale=colour, legend=legend),
            fillOpacity=alt.condition("datum.state == 'counted'", alt.value(0.9), alt.value(0)),
        ),
        failed.mark_rule(strokeDash=[3, 3], opacity=0.6).encode(x=place),
    ]
    return alt.layer(*layers).properties(width=width, height=170, title=offer)


def describe(shown: list[Pass], options: list[str]) -> str:
    """Return the durations in words, for those who don't see the chart."""
    parts = []
    for option in options:
        own = [one for one in shown if one.option == option]
        times = ", ".join(
            seconds(str(one.main_time_s)) + (" (excluded)" if one.state == EXCLUDED else "")
            if one.main_time_s is not None
            else "no duration"
            for one in own
        )
        parts.append(f"{option}: {times}")
    return "Seconds in measured order. " + "; ".join(parts) + "."
