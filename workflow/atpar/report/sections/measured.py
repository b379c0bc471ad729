"""Durations, separation, memory and attempts: what was measured and how it is read."""

from atpar.report.charts import NARROW, WIDE, Figure, to_svg
from atpar.report.durations import DRAWN_OPTIONS, describe, order_chart, passes, strip_chart
from atpar.report.material import Material
from atpar.report.sections.blocks import Callout, Listing, Prose, Section
from atpar.report.tables import Column, Row, Table, table
from atpar.report.values import each_seconds, flag, instant, is_true, memory, number, score, seconds

YES_NO = {"true": "good", "false": "bad"}


def _few(row: Row) -> str:
    if row.get("successes") in ("0", ""):
        return "no pass of this option succeeded"
    return "it isn't recorded for this option's passes"


SUMMARY = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column(
        "Durations in measured order, s",
        "durations_s",
        each_seconds,
        otherwise="no pass of this option has a duration",
    ),
    Column("Median, s", "median_s", seconds, numeric=True, reason=_few),
    Column("Min, s", "min_s", seconds, numeric=True, reason=_few),
    Column("Max, s", "max_s", seconds, numeric=True, reason=_few),
    Column("Spread, s", "spread_s", seconds, numeric=True, reason=_few),
    Column("Successes", "successes", numeric=True),
    Column("Failures", "failures", numeric=True),
    Column("Excluded", "excluded", numeric=True),
    Column("Entries/s", "entries_per_s", number, numeric=True, reason=_few),
    Column("Tokens/s", "tokens_per_s", number, numeric=True, reason=_few),
    Column("Start-up, s", "startup_median_s", seconds, numeric=True, reason=_few),
    Column("Truncated", "entries_truncated", number, numeric=True, reason=_few),
)

ATTEMPTS = (
    Column("Attempt", "attempt_id"),
    Column(
        "Status",
        "status",
        marks={
            "ok": "good",
            **dict.fromkeys(
                ("out_of_memory", "error", "signal", "timeout", "interrupted", "refused"), "bad"
            ),
        },
    ),
    Column("Counted", "counted", flag),
    Column("Ended in", "phase"),
    Column(
        "Reason or cause",
        "reason",
        empty="",
    ),
    Column("Started", "started_utc", instant),
    Column("Main time, s", "main_time_s", seconds, numeric=True, reason="main_time_reason"),
    Column("Wall time, s", "wall_time_s", seconds, numeric=True),
    Column(
        "Entries done",
        "entries_completed",
        number,
        numeric=True,
        otherwise="the worker left no count behind",
    ),
    Column(
        "Ids match",
        "ids_match",
        flag,
        marks=YES_NO,
        otherwise="there are no predictions to check",
    ),
    Column(
        "Metric",
        "metric_value",
        score,
        numeric=True,
        otherwise="quality wasn't evaluated for this attempt",
    ),
    Column("Accepted", "corpus_accepted", flag, marks=YES_NO, otherwise="no verdict was given"),
    Column("Failed checks", "failed_checks", empty="none"),
    Column("Notes", "notes", empty=""),
)


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
    blocks.append(_summary_table(material, summary))
    return Section(
        "durations",
        "Durations",
        "How long each complete pass over the corpus took, from reading the texts to predictions "
        "on the host. All of them are shown: the median hides no incident, and no percentile is "
        "read from a handful of passes.",
        blocks,
    )


def _summary_table(material: Material, summary: list[Row]) -> Table:
    absent = material.tables.get("summary") is None
    return table(
        "summary",
        "Passes of each option. Start-up (import, load, compile, warm-up) isn't part of the main "
        "time; the rental pays for it all the same.",
        SUMMARY,
        summary,
        row_headers=2,
        empty="summary.csv isn't there." if absent else "No option has been measured yet.",
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


def attempts_section(material: Material, style: str) -> Section:
    """Return every attempt, or in a `short` report those that failed or are excluded alone."""
    rows = material.rows("attempts")
    blocks = []
    if style == "short":
        shown = [
            row for row in rows if row.get("status") != "ok" or is_true(row.get("excluded", ""))
        ]
        blocks.append(
            Prose(
                f"{len(rows)} attempts; this is the short report, so only those that failed, were "
                "interrupted or are excluded are listed. attempts.csv holds all of them."
            )
        )
        empty = "No attempt failed, was interrupted or is excluded."
    else:
        shown, empty = rows, "No pass has been attempted yet."
    if material.tables.get("attempts") is None:
        empty = "attempts.csv isn't there."
    shown = [{**row, "reason": _cause(row)} for row in shown]
    blocks.append(
        table(
            "attempts",
            "One row for each attempt at a pass, failed and interrupted ones included.",
            ATTEMPTS,
            shown,
            empty=empty,
        )
    )
    return Section(
        "attempts",
        "Attempts",
        "Nothing that was tried is left out: an attempt that ran out of memory, crashed or was "
        "interrupted keeps its row and its cost.",
        blocks,
    )


def _cause(row: Row) -> str:
    """Return why an attempt failed, or why it is excluded."""
    parts = [row.get("reason", "")]
    if is_true(row.get("excluded", "")):
        parts.append(f"excluded: {row.get('exclusion_cause') or 'no cause was recorded'}")
    if row.get("exit_code") not in ("", "0", None):
        parts.append(f"exit status {row['exit_code']}")
    if row.get("signal") not in ("", None):
        parts.append(f"signal {row['signal']}")
    return "; ".join(part for part in parts if part)


def memory_section(material: Material) -> Section:
    """Return the memory peaks with what each counter covers [P24]."""
    attempts = material.rows("attempts")
    scopes = [
        key for key in (attempts[0] if attempts else {}) if key.endswith("_bytes") and "peak" in key
    ]
    columns = [
        Column("Offer", "offer"),
        Column("Variant", "variant"),
        *(Column(scope_title(key), key, memory, numeric=True, reason=f"{key}!") for key in scopes),
    ]
    rows = [_largest(option, rows, scopes) for option, rows in _by_option(attempts).items()]
    blocks = [
        table(
            "memory",
            "Largest peak over all attempts of an option, failed ones included. The counters "
            "overlap and reach their peaks at different moments, so they are never added.",
            columns,
            rows if scopes else [],
            row_headers=2,
            empty="No attempt recorded a memory peak.",
        )
    ]
    if scopes:
        blocks.append(
            Listing(
                [f"{scope_title(key)}: {meaning}" for key in scopes if (meaning := scope(key))],
                "What each counter covers",
            )
        )
    return Section(
        "memory",
        "Memory",
        "An option has to finish the whole corpus, long texts included, before its cost is "
        "compared. These are observed peaks, not estimates and not a card's stated capacity.",
        blocks,
    )


SCOPES = {
    "allocated": "memory that tensors held, as the framework's allocator counts it",
    "reserved": "memory that the framework's allocator took, cached blocks included",
    "device": "all memory in use on the device: other processes and the driver's context too",
    "process": "resident memory of the worker process on the host",
    "rss": "resident memory of the worker process on the host",
    "host": "memory on the host",
    "cgroup": "memory of the container or job that the worker ran in",
}


def scope(key: str) -> str | None:
    """Return what a memory counter covers, None where its name doesn't tell."""
    return next((text for word, text in SCOPES.items() if word in key), None)


def scope_title(key: str) -> str:
    """Return a column's title from the counter's name: `peak_allocated_bytes` -> `Allocated`."""
    return (
        key.removesuffix("_bytes")
        .replace("peak_", "")
        .replace("_peak", "")
        .replace("_", " ")
        .capitalize()
    )


def _by_option(attempts: list[Row]) -> dict[tuple[str, str], list[Row]]:
    options: dict[tuple[str, str], list[Row]] = {}
    for row in attempts:
        options.setdefault((row.get("offer", ""), row.get("variant", "")), []).append(row)
    return options


def _largest(option: tuple[str, str], rows: list[Row], scopes: list[str]) -> Row:
    """Return the largest value of each counter, and why a counter has none (under `<key>!`)."""
    found: Row = {"offer": option[0], "variant": option[1]}
    for key in scopes:
        values = [row[key] for row in rows if row.get(key)]
        found[key] = max(values, key=float) if values else ""
        reasons = [row.get(key.removesuffix("_bytes") + "_reason", "") for row in rows]
        found[f"{key}!"] = next(
            filter(None, reasons), "no attempt of this option read this counter"
        )
    return found
