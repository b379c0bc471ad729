"""The decision, and which options the sealed rule tells apart."""

from typing import Any

from atpar.report.markdown import to_html
from atpar.report.material import Material
from atpar.report.sections.blocks import Callout, Prose, Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import number


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
