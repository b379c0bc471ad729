"""The decision, what separates the options, and the quality verdicts behind it."""

from typing import Any

from atpar.report.markdown import to_html
from atpar.report.material import Material
from atpar.report.sections.blocks import Callout, Prose, Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import VERDICTS, number, plain, score

QUALITY = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Pass", "repetition", numeric=True),
    Column("Verdict", "verdict", marks=VERDICTS),
    Column("Failed checks", "failed", empty="none"),
    Column("Metric", "metric"),
    Column("Value", "value", score, numeric=True, reason="value_reason"),
    Column("Changed labels", "changed_labels", number, numeric=True, reason="compared"),
    Column(
        "Largest score difference",
        "largest_score_difference",
        number,
        numeric=True,
        reason="compared",
    ),
    Column("Difference to the reference", "interval", reason="compared"),
    Column("Reasons", "reasons", empty=""),
)

SUBGROUPS = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Subgroup", "subgroup"),
    Column("Entries", "entries", number, numeric=True),
    Column("Metric", "metric"),
    Column("Lowest", "lowest", score, numeric=True, reason="reason"),
    Column("Highest", "highest", score, numeric=True, reason="reason"),
    Column("Verdict", "verdict", marks=VERDICTS),
    Column("Reason", "reason", empty=""),
)

CHECKS = (
    Column("Offer", "offer"),
    Column("Variant", "variant"),
    Column("Pass", "repetition", numeric=True),
    Column("Expected ids", "expected_ids", number, numeric=True),
    Column("Observed ids", "observed_ids", number, numeric=True),
    Column("Duplicate", "duplicates", number, numeric=True),
    Column("Missing", "missing", number, numeric=True),
    Column("Foreign", "foreign", number, numeric=True),
    Column("Passed", "passed", marks={"yes": "good", "no": "bad"}),
    Column("Problems", "problems", empty="none"),
)


def decision_section(material: Material) -> Section:
    """Return the decision note in full sentences."""
    blocks: list[Any] = []
    if material.decision_text is not None:
        blocks.append(Prose(to_html(_without_title(material.decision_text))))
    elif material.documents.get("decision") is None:
        blocks.append(
            Callout("There is no decision yet: decision.json and decision.md aren't there.")
        )
    return Section("decision", "Decision", "", blocks)


def _without_title(text: str) -> str:
    """Return the note without its first-level heading: the page has one."""
    lines = text.lstrip().splitlines()
    return "\n".join(lines[1:] if lines and lines[0].startswith("# ") else lines)


def separation_section(material: Material) -> Section:
    """Return the groups of options that the sealed rule doesn't tell apart."""
    rows = material.rows("separation")
    absent = material.tables.get("separation") is None
    titles = list(rows[0]) if rows else []
    columns = [
        Column(
            _title(key),
            key,
            number if _is_numeric(rows, key) else str,
            numeric=_is_numeric(rows, key),
            reason=_reason_column(titles, key),
        )
        for key in titles
        if not key.endswith("_reason") and key != "definition"
    ]
    return Section(
        "separation",
        "Separation",
        "Which options the sealed rule tells apart. When the spread is comparable to the gap, the "
        "series doesn't separate them, and the page says so.",
        [
            table(
                "separation",
                "Options compared by the sealed rule.",
                columns,
                rows,
                row_headers=2,
                empty="separation.csv isn't there."
                if absent
                else "Nothing to compare: fewer than two options have durations.",
            )
        ],
    )


def _title(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _reason_column(keys: list[str], key: str) -> str | None:
    return next((one for one in (f"{key}_reason", "reason") if one in keys), None)


def _is_numeric(rows: list[Row], key: str) -> bool:
    values = [row[key] for row in rows if row[key]]
    return bool(values) and all(value.replace(".", "", 1).lstrip("-").isdigit() for value in values)


def quality_section(material: Material) -> Section:
    """Return verdicts by pass, subgroups by option, and the checks of identifiers."""
    blocks = [
        table(
            "quality",
            "Verdict of each pass, computed from its predictions against the reference answers.",
            QUALITY,
            [row for option, own in material.quality.items() for row in _verdicts(option, own)],
            row_headers=3,
            empty="No predictions have been evaluated.",
        ),
        table(
            "subgroups",
            "Subgroups, lowest and highest value over the passes of an option. A subgroup below "
            "the sealed size is reported, not judged.",
            SUBGROUPS,
            [row for option, own in material.quality.items() for row in _subgroups(option, own)],
            row_headers=3,
            empty="No subgroups were evaluated.",
        ),
        table(
            "checks",
            "Identifiers: exactly the expected ones, none twice, none missing, none foreign.",
            CHECKS,
            [row for option, own in material.checks.items() for row in _checks(option, own)],
            row_headers=3,
            empty="No predictions have been checked.",
        ),
    ]
    return Section(
        "quality",
        "Quality",
        "A result counts only when it passes every check: identifiers, format, coverage, metric, "
        "subgroups. Wrong predictions stay in; hard texts are never dropped.",
        blocks,
    )


def _verdicts(option: tuple[str, str], document: dict[str, Any]) -> list[Row]:
    """Return one row for each judged pass and metric."""
    rows = []
    for one in document.get("passes", []):
        reference = one.get("changed_labels") is None
        for metric, value in (one.get("metrics") or {"–": None}).items():
            rows.append(
                {
                    **_pass_of(option, one),
                    "verdict": str(one.get("verdict", "")),
                    "failed": plain(one.get("failed") or "") if one.get("failed") else "",
                    "metric": metric,
                    "value": "" if value is None else repr(value),
                    "value_reason": str((one.get("undefined") or {}).get(metric, "")),
                    "changed_labels": _text(one.get("changed_labels")),
                    "largest_score_difference": _text(one.get("largest_score_difference")),
                    "interval": _interval(one.get("interval")),
                    "compared": "it wasn't compared with a reference pass"
                    if reference
                    else "not recorded",
                    "reasons": "; ".join(map(str, one.get("reasons") or [])),
                }
            )
    return rows


def _pass_of(option: tuple[str, str], one: dict[str, Any]) -> Row:
    return {"offer": option[0], "variant": option[1], "repetition": _text(one.get("repetition"))}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _interval(value: Any) -> str:
    """Return the interval of the metric's difference to the reference, as text."""
    if not isinstance(value, dict):
        return _text(value)
    low, high = value.get("low"), value.get("high")
    if low is None or high is None:
        return ""
    return f"{low:+.4f} to {high:+.4f}"


def _subgroups(option: tuple[str, str], document: dict[str, Any]) -> list[Row]:
    """Return one row for each subgroup, over all passes of the option."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in document.get("passes", []):
        for group in one.get("subgroups") or []:
            key = (str(group.get("column")), str(group.get("value")), str(group.get("metric")))
            groups.setdefault(key, []).append(group)
    rows = []
    for (column, value, metric), members in groups.items():
        values = [
            one["value_of_metric"] for one in members if one.get("value_of_metric") is not None
        ]
        verdicts = [str(one.get("verdict", "")) for one in members]
        worst = next((one for one in ("rejected", "not judged") if one in verdicts), verdicts[0])
        rows.append(
            {
                "offer": option[0],
                "variant": option[1],
                "subgroup": f"{column}: {value}",
                "entries": _text(members[0].get("entries")),
                "metric": metric,
                "lowest": repr(min(values)) if values else "",
                "highest": repr(max(values)) if values else "",
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
