"""The durations: as dots in the order of measurement, and as the table of [P19]."""

from atpar.decision.tables import TIMED
from atpar.report.charts import NARROW, WIDE, Figure, to_svg
from atpar.report.durations import DRAWN_OPTIONS, describe, order_chart, passes, strip_chart
from atpar.report.material import Material
from atpar.report.sections.blocks import Callout, Prose, Section
from atpar.report.sections.tried import by_option, recorded_reasons
from atpar.report.tables import Column, Row, table
from atpar.report.values import each_seconds, number, seconds


def _few(row: Row) -> str:
    return row.get("durations_reason") or "it isn't known for this option's passes"


def _seconds(title: str, key: str) -> Column:
    return Column(title, key, seconds, numeric=True, reason=_few)


SUMMARY = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Durations in measured order, s", "durations_s", each_seconds, wide=True, reason=_few),
    _seconds("Median, s", "median_s"),
    _seconds("Min, s", "min_s"),
    _seconds("Max, s", "max_s"),
    _seconds("Spread, s", "spread_s"),
    Column("Successes", "successes", numeric=True),
    Column("Failures", "failures", numeric=True),
    Column("Excluded", "excluded", numeric=True),
    Column("Still to do", "missing_passes", numeric=True),
    Column("Kinds of failure", "failure_kinds", wide=True, empty="none"),
    Column("Entries/s", "entries_per_s", number, numeric=True, reason=_few),
    Column("Tokens/s", "tokens_per_s", number, numeric=True, reason=_few),
    Column("Padded / real tokens", "padding_ratio", number, numeric=True, reason=_few),
    Column("Truncated entries", "entries_truncated", number, numeric=True, reason=_few),
    Column("Series", "series", empty="none"),
)


def _phase(title: str, name: str) -> Column:
    return Column(title, f"{name}_median_s", seconds, numeric=True, reason=f"{name}!")


PHASES = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    _seconds("Start-up, s", "startup_median_s"),
    _phase("Start", "start"),
    _phase("Import", "import"),
    _phase("Load", "load"),
    _phase("Compile", "compile"),
    _phase("Warm-up", "warm_up"),
    _seconds("Main time, s", "median_s"),
    _phase("Read", "read"),
    _phase("Tokenize", "tokenize"),
    _phase("Transfer", "transfer"),
    _phase("Inference", "inference"),
    _phase("Materialise", "materialise"),
)


def _with_reasons(material: Material) -> list[Row]:
    """Return the summary's rows with, under `<phase>!`, why a phase has no time."""
    attempts = by_option(material.rows("attempts"))
    rows = []
    for row in material.rows("summary"):
        own = attempts.get((row.get("offer", ""), row.get("variant", "")), [])
        reasons = recorded_reasons(own, "phase_reasons")
        unknown = row.get("durations_reason") or "no attempt of this option timed it"
        rows.append({**row, **{f"{name}!": reasons.get(name, unknown) for name in TIMED}})
    return rows


def durations_section(material: Material) -> Section:
    """Return the durations as dots, and the table of [P19]."""
    summary = material.rows("summary")
    figures = [_strip(material), _order(material)]
    failed = sum(1 for row in material.rows("attempts") if row.get("status") != "ok")
    blocks = [figure for figure in figures if figure is not None]
    if not blocks:
        blocks = [Callout(why_not_drawn(material))]
    if failed:
        blocks.append(
            Prose(
                f"{failed} of {len(material.rows('attempts'))} attempts have no duration that "
                "counts; each is listed under Attempts with its reason."
            )
        )
    blocks.append(
        table(
            "summary",
            "Passes of each option. The durations are those of the counted passes; failures and "
            "exclusions stand beside them.",
            SUMMARY,
            summary,
            row_headers=2,
            empty=material.emptiness("summary", "No option has been measured yet."),
        )
    )
    blocks.append(
        table(
            "phases",
            "Median seconds of each phase. Start-up isn't part of the main time; the rental pays "
            "for it all the same. Phases may overlap, so they need not add up.",
            PHASES,
            _with_reasons(material),
            row_headers=2,
            empty=material.emptiness("summary", "No option has been measured yet."),
        )
    )
    return Section(
        "durations",
        "Durations",
        "How long each complete pass over the corpus took, from reading the texts to predictions "
        "on the host. All of them are shown: the median hides no incident, and no percentile is "
        "read from a handful of passes.",
        blocks,
    )


def why_not_drawn(material: Material) -> str:
    """Return why there is no picture of the durations, for the place where it would be."""
    attempts = material.rows("attempts")
    if not attempts:
        return "No pass has been attempted yet, so there is nothing to draw."
    options = {(row.get("offer"), row.get("variant")) for row in attempts}
    if len(options) > DRAWN_OPTIONS:
        return (
            f"{len(options)} options are more than a picture can show (at most {DRAWN_OPTIONS}); "
            "all durations are in the table."
        )
    return "No attempt ended with a duration, so there is nothing to draw."


def drawable(material: Material) -> tuple[list, list[str]] | None:
    """Return the attempts to draw and the options in the summary's order, or None."""
    shown = passes(material.rows("attempts"))
    found = list(dict.fromkeys(one.option for one in shown))
    order = [f"{row.get('offer')} · {row.get('variant')}" for row in material.rows("summary")]
    options = [one for one in order if one in found] + [one for one in found if one not in order]
    if not any(one.main_time_s is not None for one in shown) or len(options) > DRAWN_OPTIONS:
        return None
    return shown, options


def _strip(material: Material) -> Figure | None:
    found = drawable(material)
    if found is None:
        return None
    shown, options = found
    title = "Durations of all passes, by option"
    return Figure(
        "durations",
        title,
        describe(shown, options),
        "One dot for each pass, first measured on top; band: shortest to longest counted pass; "
        "line: median; hollow: excluded; ✕: the attempt ended without a duration.",
        to_svg(strip_chart(shown, options, WIDE), title),
        to_svg(strip_chart(shown, options, NARROW), title),
    )


def _order(material: Material) -> Figure | None:
    found = drawable(material)
    if found is None:
        return None
    shown, options = found
    title = "Durations in the order of measurement"
    return Figure(
        "order",
        title,
        describe(shown, options),
        "The same passes along time, each offer apart, with its own scale that doesn't start at "
        "zero: a slope common to all variants would be a drift of the machine. Dashed line: an "
        "attempt without a duration.",
        to_svg(order_chart(shown, WIDE - 60), title),
        to_svg(order_chart(shown, NARROW - 50), title),
    )
