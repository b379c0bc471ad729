"""Quality: the verdict of each pass, metrics and subgroups of each option, and the checks."""

from collections.abc import Callable
from typing import Any

from atpar.report.material import Material
from atpar.report.sections.blocks import Section
from atpar.report.tables import Column, Row, Table, table
from atpar.report.values import VERDICTS, number, plain, score

UNEVALUATED = "its predictions failed their checks, so nothing was computed from them"

PASSES = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Pass", "repetition"),
    Column("Verdict", "verdict", marks=VERDICTS),
    Column("Failed checks", "failed", wide=True, empty="none"),
    Column("Main metric", "metric"),
    Column("Value", "value", score, numeric=True, reason="value_reason"),
    Column("Changed answers", "changed_labels", number, numeric=True, reason="compared"),
    Column("Difference to the reference", "interval", numeric=True, reason="no_interval"),
    Column(
        "Largest score difference",
        "largest_score_difference",
        number,
        numeric=True,
        reason="compared",
    ),
    Column("Reasons", "reasons", wide=True, empty=""),
)

METRICS = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Metric", "metric"),
    Column("Lowest", "lowest", score, numeric=True, reason="reason"),
    Column("Highest", "highest", score, numeric=True, reason="reason"),
)

SUBGROUP_VERDICTS = {**VERDICTS, "insufficient": "caution", "undefined": "caution"}

WORST_FIRST = ("rejected", "undefined", "not judged", "insufficient", "accepted")

SUBGROUPS = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Subgroup", "subgroup"),
    Column("Entries", "entries", number, numeric=True),
    Column("Metric", "metric"),
    Column("Lowest", "lowest", score, numeric=True, reason="reason"),
    Column("Highest", "highest", score, numeric=True, reason="reason"),
    Column("Verdict", "verdict", marks=SUBGROUP_VERDICTS),
    Column("Reason", "reason", wide=True, empty=""),
)

CHECKS = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Pass", "repetition"),
    Column("Expected ids", "expected_ids", number, numeric=True),
    Column("Observed ids", "observed_ids", number, numeric=True),
    Column("Duplicate", "duplicates", number, numeric=True),
    Column("Missing", "missing", number, numeric=True),
    Column("Foreign", "foreign", number, numeric=True),
    Column("Passed", "passed", marks={"yes": "good", "no": "bad"}),
    Column("Problems", "problems", wide=True, empty="none"),
)


def quality_section(material: Material) -> Section:
    """Return verdicts by pass, metrics and subgroups by option, and the checks of identifiers."""
    protocol = (material.document("seal").get("sealed") or {}).get("protocol") or {}
    main = protocol.get("metric")
    blocks = [
        _laid(
            material.quality,
            "quality",
            "Verdict of each pass, computed from its predictions against the reference answers. "
            "The difference to the reference is an interval: what so many texts can tell.",
            PASSES,
            lambda option, own: [_verdict(option, one, main) for one in own.get("passes", [])],
            "No predictions have been evaluated.",
        ),
        _laid(
            material.quality,
            "metrics",
            "All metrics, lowest and highest value over the passes of an option. Larger is better: "
            "what begins with neg_ is a loss with its sign turned.",
            METRICS,
            _metrics,
            "No metric was computed.",
        ),
        _laid(
            material.quality,
            "subgroups",
            "Subgroups, lowest and highest value over the passes of an option. A subgroup below "
            "the sealed size is reported, not judged.",
            SUBGROUPS,
            _subgroups,
            "No subgroups were evaluated.",
        ),
        _laid(
            material.checks,
            "checks",
            "Identifiers: exactly the expected ones, none twice, none missing, none foreign.",
            CHECKS,
            _checks,
            "No predictions have been checked.",
        ),
    ]
    return Section(
        "quality",
        "Quality",
        "A result counts only when it passes every check: identifiers, format, coverage, metric, "
        "subgroups. Wrong predictions stay in; hard texts are never dropped.",
        blocks,
    )


def _laid(
    documents: dict[tuple[str, str], dict[str, Any]],
    name: str,
    caption: str,
    columns: tuple[Column, ...],
    rows_of: Callable[[tuple[str, str], dict[str, Any]], list[Row]],
    empty: str,
) -> Table:
    """Return one table with the rows of every option."""
    rows = [row for option, own in documents.items() for row in rows_of(option, own)]
    return table(name, caption, columns, rows, row_headers=3, empty=empty)


def _verdict(option: tuple[str, str], one: dict[str, Any], main: str | None) -> Row:
    """Return the row of one pass; the main metric is the sealed one, else the first."""
    metrics = one.get("metrics") or {}
    metric = main if main in metrics else next(iter(metrics), main or "")
    interval = one.get("interval") or {}
    unevaluated = not metrics
    no_pair = "there is no reference pass to compare with"
    return {
        **_pass_of(option, one),
        "verdict": _text(one.get("verdict")),
        "metric": metric,
        "value": _text(metrics.get(metric)),
        "value_reason": UNEVALUATED
        if unevaluated
        else _text((one.get("undefined") or {}).get(metric)),
        "changed_labels": _text(one.get("changed_labels")),
        "largest_score_difference": _text(one.get("largest_score_difference")),
        "interval": _interval(interval),
        "no_interval": UNEVALUATED if unevaluated else _text(interval.get("reason")) or no_pair,
        "compared": UNEVALUATED if unevaluated else no_pair,
        "failed": ", ".join(map(str, one.get("failed") or [])),
        "reasons": "; ".join(map(str, one.get("reasons") or [])),
    }


def _metrics(option: tuple[str, str], document: dict[str, Any]) -> list[Row]:
    """Return one row for each metric, over all passes of the option."""
    passes = document.get("passes", [])
    names = dict.fromkeys(name for one in passes for name in one.get("metrics") or {})
    rows = []
    for name in names:
        values = [(one.get("metrics") or {}).get(name) for one in passes]
        reasons = [(one.get("undefined") or {}).get(name) for one in passes]
        rows.append(
            {
                "offer": option[0],
                "variant": option[1],
                "metric": name,
                **_range(values),
                "reason": next(filter(None, map(_text, reasons)), ""),
            }
        )
    return rows


def _range(values: list[Any]) -> Row:
    """Return the lowest and the highest of the values that are defined."""
    known = [value for value in values if value is not None]
    return {
        "lowest": _text(min(known)) if known else "",
        "highest": _text(max(known)) if known else "",
    }


def _pass_of(option: tuple[str, str], one: dict[str, Any]) -> Row:
    return {"offer": option[0], "variant": option[1], "repetition": _text(one.get("repetition"))}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _interval(value: dict[str, Any]) -> str:
    """Return the interval of the metric's difference to the reference pass, as text."""
    low, high = value.get("low"), value.get("high")
    return "" if low is None or high is None else f"{low:+.4f} to {high:+.4f}"


def _subgroups(option: tuple[str, str], document: dict[str, Any]) -> list[Row]:
    """Return one row for each subgroup, over all passes of the option."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in document.get("passes", []):
        for group in one.get("subgroups") or []:
            key = (str(group.get("column")), str(group.get("value")), str(group.get("metric")))
            groups.setdefault(key, []).append(group)
    rows = []
    for (column, value, metric), members in groups.items():
        verdicts = [str(one.get("verdict", "")) for one in members]
        worst = min(verdicts, key=lambda one: WORST_FIRST.index(one) if one in WORST_FIRST else 0)
        rows.append(
            {
                "offer": option[0],
                "variant": option[1],
                "subgroup": f"{column}: {value}",
                "entries": _text(members[0].get("entries")),
                "metric": metric,
                **_range([one.get("value_of_metric") for one in members]),
                "verdict": worst,
                "reason": "; ".join(
                    dict.fromkeys(str(one["reason"]) for one in members if one.get("reason"))
                ),
            }
        )
    return rows


def _checks(option: tuple[str, str], document: dict[str, Any]) -> list[Row]:
    counts = ("expected_ids", "observed_ids", "duplicates", "missing", "foreign")
    return [
        {
            **_pass_of(option, one),
            **{count: _text(one.get(count)) for count in counts},
            "passed": plain(one.get("passed")),
            "problems": "; ".join(map(str, one.get("problems") or [])),
        }
        for one in document.get("passes", [])
    ]
