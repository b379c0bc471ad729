"""The calendar: the access window, its tasks, and the packages that cover it."""

from atpar.report.charts import NARROW, WIDE, Figure, to_svg
from atpar.report.material import Material
from atpar.report.sections.blocks import Section
from atpar.report.tables import Column, table
from atpar.report.timeline import bars, describe, timeline_chart
from atpar.report.values import flag, instant, money, number

YES_NO = {"true": "good", "false": "bad"}

WINDOWS = (
    Column("Offer", "offer"),
    Column("From", "start_local"),
    Column("To", "end_local"),
    Column("Window, h", "window_h", number, numeric=True),
    Column("First planned, h", "planned_window_h", number, numeric=True),
    Column("Busy, h", "busy_h", number, numeric=True),
    Column("Idle, h", "idle_h", number, numeric=True),
    Column("Slack to the deadline, h", "slack_h", number, numeric=True, otherwise="no deadline"),
    Column("Meets the deadline", "meets_deadline", flag, marks=YES_NO, otherwise="no deadline"),
)

PACKAGES = (
    Column("Offer", "offer"),
    Column("Standing", "kind"),
    Column("Billing", "billing", otherwise="no single period"),
    Column("Days", "term_days", number, numeric=True, otherwise="there is no package"),
    Column("Amount", "amount", money, numeric=True, unit="currency", reason="text"),
    Column("Unused, h", "unused_h", number, numeric=True, otherwise="it doesn't cover the window"),
    Column("In words", "text", wide=True),
)

CALENDAR = (
    Column("Offer", "offer"),
    Column("Task", "task"),
    Column("Pass", "pass", empty=""),
    Column("Basis", "basis"),
    Column("Duration, h", "duration_h", number, numeric=True),
    Column("First planned, h", "planned_duration_h", number, numeric=True),
    Column("Start", "start_local"),
    Column("End", "end_local"),
    Column("Really started", "actual_start_utc", instant, empty=""),
    Column("Really ended", "actual_end_utc", instant, empty=""),
    Column("Rental", "rental"),
)


def calendar_section(material: Material, style: str) -> Section:
    """Return windows, packages and tasks; a `short` report leaves out the lines of passes."""
    figure = _timeline(material)
    rows = material.rows("calendar")
    if style == "short":
        rows = [row for row in rows if not row.get("pass")]
    return Section(
        "calendar",
        "Calendar",
        "The time the rental is needed, from preparation to fetching the deliverables. "
        "Overlapping tasks count once.",
        [
            table(
                "window",
                "Access window of each offer, with what was measured in place.",
                WINDOWS,
                material.rows("window"),
                empty=material.emptiness("window", "No window is known."),
            ),
            *([figure] if figure else []),
            table(
                "packages",
                "What is engaged, and what else would cover the window. Nothing is ever extended "
                "by itself.",
                PACKAGES,
                material.rows("packages"),
                row_headers=2,
                empty=material.emptiness("packages", "No package was considered."),
            ),
            table(
                "calendar",
                "Tasks and passes; a basis of assumed or forecast isn't a measurement.",
                CALENDAR,
                rows,
                row_headers=2,
                empty=material.emptiness("calendar", "No task is planned."),
            ),
        ],
    )


def _timeline(material: Material) -> Figure | None:
    shown = bars(material.rows("calendar"))
    if not shown:
        return None
    title = "Calendar of the rental"
    return Figure(
        "timeline",
        title,
        describe(shown),
        "Filled: measured; pale: assumed; outline alone: forecast. Passes of an offer share one "
        "line.",
        to_svg(timeline_chart(shown, WIDE), title),
        to_svg(timeline_chart(shown, NARROW), title),
    )
