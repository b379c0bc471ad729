"""This campaign beside the earlier one that asked the same question [P36]."""

import re
from collections.abc import Callable, Sequence

from atpar.report.material import Material
from atpar.report.sections.blocks import Callout, Prose, Section
from atpar.report.tables import Column, Row, Table, table
from atpar.report.values import money, number, score, seconds

SUBJECTS = {
    "question": ("What was asked", "Digests that differ mean another protocol, corpus or model."),
    "stack": (
        "Stack",
        "What each offer's machine ran on: device, driver and main packages always, anything else "
        "of the environment where it changed.",
    ),
    "quality": ("Quality", "The metric and the verdict of each option."),
    "duration": ("Durations", "Of the counted passes of each option, on its own machine's clock."),
    "cost": ("Cost", "Engaged cost of each option, by the tariffs that each campaign was given."),
    "decision": ("Decision", "What each campaign came to."),
}
ORDER = ("decision", "question", "stack", "quality", "duration", "cost")

FORMS: dict[str, Callable[[str], str]] = {
    "metric_value": score,
    "engaged_amount": money,
    "cost_per_deliverable": money,
    "s": seconds,
    "1/s": number,
}
"""How a value is written, by its item or its unit; any other stands as it is."""

TITLES = {
    "metric_value": "value of the metric",
    "quality_verdict": "verdict",
    "failed_checks": "failed checks",
    "entries_truncated": "truncated entries",
    "median_s": "median, s",
    "min_s": "shortest, s",
    "max_s": "longest, s",
    "startup_median_s": "start-up, s",
    "entries_per_s": "entries/s",
    "engaged_amount": "engaged",
    "cost_per_deliverable": "per deliverable",
}
"""How an item is called on the page; any other keeps its name."""

WITH_RATIO = ("quality", "duration", "cost")
"""Subjects whose numbers are measured or paid; a ratio of version numbers means nothing."""

CHANGED = {"changed": "caution"}


def beside_section(material: Material) -> Section:
    """Return old and new side by side, or why there is nothing beside the new."""
    earlier = material.follows or ""
    rows = material.beside
    if rows is None:
        blocks = [
            Callout(
                f"The results of {earlier} weren't on the machine that made this page: bring "
                f"results/{earlier} there, decided, and call snakemake again."
            )
        ]
    else:
        blocks = [Prose(_changes(rows)), *_tables(rows, earlier, material.campaign)]
    return Section(
        "beside",
        f"Beside {earlier}",
        f"The same question was asked before, in the campaign {earlier}. What changed is marked; "
        "nothing is judged here, and two campaigns were measured at different times, so a ratio "
        "is that of whole configurations.",
        blocks,
    )


def _changes(rows: Sequence[Row]) -> str:
    """Return in one sentence how much changed, subject by subject."""
    parts = []
    for subject in ORDER:
        own = [row for row in rows if row.get("subject") == subject]
        changed = sum(row.get("changed") == "true" for row in own)
        parts.append(f"{SUBJECTS[subject][0].lower()} {changed} of {len(own)}")
    return f"Changed values: {', '.join(parts)}."


def _tables(rows: Sequence[Row], earlier: str, campaign: str) -> list[Table]:
    """Return one table a subject, with the columns that its rows use."""
    return [
        table(
            f"beside-{subject}",
            f"{SUBJECTS[subject][0]}: {earlier} and {campaign}. {SUBJECTS[subject][1]}",
            _columns(own, earlier, campaign, with_ratio=subject in WITH_RATIO),
            own,
            row_headers=sum(any(row.get(key) for row in own) for key in ("offer", "variant")) + 1,
            empty="Neither campaign tells anything of it.",
        )
        for subject in ORDER
        for own in [[_shown(row) for row in rows if row.get("subject") == subject]]
    ]


def _shown(row: Row) -> Row:
    """Return a row with its values written by item or unit, and a word for `changed`."""
    form = FORMS.get(row.get("item", "")) or FORMS.get(row.get("unit", "")) or str
    values = {key: form(_short(row.get(key, ""))) for key in ("before", "after")}
    item = row.get("item", "")
    currency = f", {row['unit']}" if row.get("subject") == "cost" and row.get("unit") else ""
    return {
        **row,
        **values,
        "item": TITLES.get(item, item) + currency,
        "changed": "changed" if row.get("changed") == "true" else "same",
    }


def _short(value: str) -> str:
    """Return a SHA-256 by its first digits, so that two of them fit side by side."""
    return f"{value[:16]}…" if re.fullmatch("[0-9a-f]{64}", value) else value


def _columns(rows: Sequence[Row], earlier: str, campaign: str, with_ratio: bool) -> list[Column]:
    """Return the columns that the rows of one subject use."""
    names = [
        Column(title, key, empty="the offer as a whole" if key == "variant" else "")
        for title, key in (("Offer", "offer"), ("Variant", "variant"))
        if any(row.get(key) for row in rows)
    ]
    ratio = Column(f"{campaign} / {earlier}", "ratio", numeric=True, empty="")
    return [
        *names,
        Column("What", "item"),
        Column(earlier, "before", wide=True, numeric=with_ratio, reason="reason"),
        Column(campaign, "after", wide=True, numeric=with_ratio, reason="reason"),
        *([ratio] if with_ratio else []),
        Column("Changed", "changed", marks=CHANGED),
    ]
