"""Charts: every pass drawn, in measured order, told apart without colour."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from atpar.report.charts import PALETTE, SHAPES, blank_svg, series_style
from atpar.report.durations import COUNTED, EXCLUDED, FAILED, passes
from atpar.report.material import read_material
from atpar.report.page import draw_alone
from atpar.report.timeline import bars

SVG = "{http://www.w3.org/2000/svg}"
WHITE, DARK = "#ffffff", "#14181d"


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.1."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", PALETTE)
def test_palette_is_visible_on_light_and_dark(colour: str) -> None:
    assert contrast(colour, WHITE) >= 3
    assert contrast(colour, DARK) >= 3


def test_page_ground_is_the_one_the_palette_is_checked_on() -> None:
    css = Path(__import__("atpar.report").report.__path__[0], "page.css").read_text()
    assert re.findall(r"--paper: (#\w+);", css)[:2] == [WHITE, DARK]


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_text_colours_have_readable_contrast(ground: str) -> None:
    css = Path(__import__("atpar.report").report.__path__[0], "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w+);", blocks[0 if ground == "light" else 1]))
    for name in ("ink", "quiet", "accent", "good", "bad", "caution"):
        for under in ("paper", "panel", "callout"):
            assert contrast(colours[name], colours[under]) >= 4.5, (name, under)


def test_thirty_series_differ_in_colour_or_shape() -> None:
    names = [f"variant-{index}" for index in range(30)]
    colours, shapes = series_style(names)
    assert len(set(zip(colours.range, shapes.range, strict=True))) == 30
    assert len(set(PALETTE)) == 6 and len(set(SHAPES)) == 5


def row(**changes) -> dict:
    return {
        "offer": "a",
        "variant": "v",
        "repetition": "1",
        "started_utc": "2026-11-30T09:00:00+00:00",
        "status": "ok",
        "main_time_s": "3.5",
        "excluded": "False",
        **changes,
    }


def test_passes_stand_in_the_order_in_which_they_started() -> None:
    rows = [
        row(repetition="2", started_utc="2026-11-30T09:10:00+00:00"),
        row(repetition="1", started_utc="2026-11-30T09:20:00+00:00"),
    ]
    assert [one.repetition for one in passes(rows)] == [2, 1]


@pytest.mark.parametrize(
    ("changes", "state", "duration"),
    [
        ({}, COUNTED, 3.5),
        ({"excluded": "True"}, EXCLUDED, 3.5),
        ({"status": "timeout", "main_time_s": ""}, FAILED, None),
        # A quick failure is never drawn as a quick pass [P18].
        ({"status": "error", "main_time_s": "0.1"}, FAILED, None),
        ({"main_time_s": ""}, FAILED, None),
        ({"main_time_s": "nan"}, FAILED, None),
    ],
)
def test_state_of_an_attempt(changes: dict, state: str, duration: float | None) -> None:
    (found,) = passes([row(**changes)])
    assert (found.state, found.main_time_s) == (state, duration)


def test_every_measured_pass_is_a_dot(campaign: Path) -> None:
    svg = draw_alone(read_material(campaign))["durations"]
    root = ElementTree.fromstring(svg)
    dots = [
        path
        for group in root.iter(f"{SVG}g")
        if "mark-symbol role-mark" in group.get("class", "")
        for path in group.iter(f"{SVG}path")
    ]
    assert len(dots) == 29
    assert "✕ no duration" in svg


def test_charts_alone_have_paper_and_title(campaign: Path) -> None:
    for svg in draw_alone(read_material(campaign)).values():
        root = ElementTree.fromstring(svg)
        assert root[0].tag == f"{SVG}title" and root[0].text
        assert 'fill="white"' in svg
        assert "currentColor" not in svg


def test_nothing_to_draw_is_said_in_the_picture(tmp_path: Path) -> None:
    drawn = draw_alone(read_material(tmp_path))
    assert "No pass has been attempted yet" in drawn["durations"]
    assert "No task with a start and an end is planned." in drawn["calendar"]
    for svg in drawn.values():
        ElementTree.fromstring(svg)


def test_too_many_options_are_left_to_the_table(campaign: Path) -> None:
    rows = [
        ",".join(("o", f"v{index}", "1", "ok", "1.0", "False", "2026-11-30T09:00:00+00:00"))
        for index in range(61)
    ]
    (campaign / "attempts.csv").write_text(
        "offer,variant,repetition,status,main_time_s,excluded,started_utc\n" + "\n".join(rows)
    )
    drawn = draw_alone(read_material(campaign))
    assert "61 options are more than a picture can show" in drawn["durations"]


def test_blank_picture_escapes_its_message() -> None:
    svg = blank_svg("<title>", "<script>")
    assert "<script>" not in svg
    ElementTree.fromstring(svg)


def test_timeline_shows_the_clock_on_the_wall_and_one_line_for_passes(campaign: Path) -> None:
    shown = bars(read_material(campaign).rows("calendar"))
    assert [bar.line for bar in shown] == [
        "one-thread · preparation",
        "one-thread · passes",
        "one-thread · passes",
        "one-thread · export",
    ]
    assert shown[0].start == "2026-12-07T09:00:00"  # 08:00 UTC in Paris


def test_timeline_passes_over_rows_without_an_end() -> None:
    assert bars([{"offer": "a", "task": "t", "start_utc": "2026-12-07T08:00:00Z"}]) == []
