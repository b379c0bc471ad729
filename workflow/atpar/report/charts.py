"""What all charts share: palette, signs, and the way from altair to SVG.

Every series has a colour and a shape of its own, so that nothing is told by colour alone. The
colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), darkened or lightened until
each has a contrast of 3:1 on white and on the page's dark ground (WCAG 2.1, 1.4.11).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import altair as alt
import vl_convert

PALETTE = ("#1a7fc1", "#c8630f", "#0a8f6c", "#b8609a", "#8a7a00", "#7d6fc9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
INK_ON_PAPER = "#1c2430"
WIDE, NARROW = 700, 330


@dataclass(frozen=True)
class Figure:
    """A chart for the page: two SVG texts, a caption, and what it shows in words."""

    name: str
    title: str
    description: str
    caption: str
    wide: str
    narrow: str
    kind: str = "figure"


def series_style(names: list[str]) -> tuple[alt.Scale, alt.Scale]:
    """Return the colour and the shape scale of named series; pairs repeat after 30."""
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(names))]
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(names))]
    return alt.Scale(domain=names, range=colours), alt.Scale(domain=names, range=shapes)


def plot_width(total: int, labels: Iterable[str]) -> tuple[int, int]:
    """Return the width left for the plot beside its row labels, and the labels' limit, in pixels.

    A letter is taken as 6.4 pixels wide; labels get two fifths of the picture at most.
    """
    longest = max((len(label) for label in labels), default=0)
    limit = min(int(6.4 * longest) + 8, int(0.4 * total))
    return total - limit - 24, limit


def to_svg(drawing: Any, title: str, *, alone: bool = False) -> str:
    """Return a chart as SVG text with `title` inside.

    On the page the ink is the page's own (`currentColor`), light or dark; a file that stands
    `alone` gets dark ink on white paper.
    """
    ink = INK_ON_PAPER if alone else "currentColor"
    styled = (
        drawing.configure(background="white" if alone else "transparent", font="sans-serif")
        .configure_axis(
            labelColor=ink,
            titleColor=ink,
            gridColor=ink,
            gridOpacity=0.14,
            domainColor=ink,
            domainOpacity=0.4,
            tickColor=ink,
            tickOpacity=0.4,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_legend(
            labelColor=ink, titleColor=ink, labelFontSize=12, titleFontWeight="normal"
        )
        .configure_header(labelColor=ink, titleColor=ink, labelFontSize=12)
        .configure_title(color=ink, fontSize=12, anchor="start")
        .configure_view(stroke=None)
        .configure_text(color=ink, fontSize=11)
        .configure_point(opacity=1)
        .configure_rule(color=ink)
    )
    svg = vl_convert.vegalite_to_svg(styled.to_dict())
    head, rest = svg.split(">", 1)
    return f"{head}><title>{escape(title)}</title>{rest}"


def blank_svg(title: str, message: str) -> str:
    """Return a picture that says why there is nothing to draw."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="700" height="60" viewBox="0 0 700 60">'
        f"<title>{escape(title)}</title>"
        '<rect width="700" height="60" fill="white"/>'
        f'<text x="16" y="34" font-family="sans-serif" font-size="14" fill="{INK_ON_PAPER}">'
        f"{escape(message)}</text></svg>\n"
    )
