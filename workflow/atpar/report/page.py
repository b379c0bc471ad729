"""The report page: one HTML file that needs nothing else, made of the campaign's files."""

from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from atpar.canonical import write_text
from atpar.report.charts import WIDE, blank_svg, to_svg
from atpar.report.durations import order_chart, strip_chart
from atpar.report.material import Material, read_material
from atpar.report.sections.ahead import ahead_section
from atpar.report.sections.asked import (
    coverage_section,
    environment_section,
    protocol_section,
)
from atpar.report.sections.beside import beside_section
from atpar.report.sections.decided import decision_section, separation_section
from atpar.report.sections.judged import quality_section
from atpar.report.sections.measured import drawable, durations_section, why_not_drawn
from atpar.report.sections.paid import balance_section, ledger_section
from atpar.report.sections.planned import calendar_section
from atpar.report.sections.tried import attempts_section, memory_section
from atpar.report.timeline import bars, timeline_chart


def render_report(
    folder: Path,
    page: Path,
    charts: dict[str, Path],
    style: str = "full",
    follows: str | None = None,
    beside: bool = False,
) -> None:
    """Write the page of the campaign in `folder`, and its charts as files of their own.

    `follows` names the earlier campaign that asked the same question, None for a first one;
    `beside` tells that follows.csv was made, since that campaign's results were at hand.
    `style` is `full`, or `short` to leave out the single attempts that went well. `charts` maps
    `durations`, `order` and `calendar` to SVG files; each is written, with the reason in it where
    there is nothing to draw. Raises AtparError for a file that can't be read.
    """
    material = read_material(folder, follows, beside)
    write_text(page, render_page(material, style))
    pictures = draw_alone(material)
    for name, path in charts.items():
        write_text(path, pictures[name])


def render_page(material: Material, style: str = "full") -> str:
    """Return the page as HTML text; the same material gives the same text."""
    environment = Environment(
        loader=PackageLoader("atpar.report", package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    css = resources.files("atpar.report").joinpath("page.css").read_text(encoding="utf-8")
    seal = material.document("seal")
    return environment.get_template("page.html.j2").render(
        campaign=material.campaign,
        question=((seal.get("sealed") or {}).get("protocol") or {}).get("question"),
        seal=seal.get("digest"),
        absent=material.absent,
        sections=sections(material, style),
        css=Markup(css),
        # The charts' text is escaped by vl-convert and by charts.py.
        svg=Markup,
        signs={"good": "✓", "bad": "✕", "caution": "◐"},
    )


def sections(material: Material, style: str) -> list[Any]:
    """Return the parts of the page in reading order: the answer first, its grounds after."""
    return [
        decision_section(material),
        *([beside_section(material)] if material.follows else []),
        balance_section(material),
        durations_section(material),
        separation_section(material),
        quality_section(material),
        memory_section(material),
        calendar_section(material, style),
        ledger_section(material),
        ahead_section(material),
        attempts_section(material, style),
        environment_section(material),
        protocol_section(material),
        coverage_section(material),
    ]


def draw_alone(material: Material) -> dict[str, str]:
    """Return the charts as SVG files for use outside the page."""
    titles = {
        "durations": "Durations of all passes, by option",
        "order": "Durations in the order of measurement",
        "calendar": "Calendar of the rental",
    }
    found = drawable(material)
    reason = why_not_drawn(material)
    pictures = dict.fromkeys(("durations", "order"), reason)
    drawings = {}
    if found:
        shown, options = found
        drawings["durations"] = strip_chart(shown, options, WIDE)
        drawings["order"] = order_chart(shown, WIDE - 60)
    if planned := bars(material.rows("calendar")):
        drawings["calendar"] = timeline_chart(planned, WIDE)
    return {
        name: to_svg(drawings[name], title, alone=True) + "\n"
        if name in drawings
        else blank_svg(title, pictures.get(name, "No task with a start and an end is planned."))
        for name, title in titles.items()
    }
