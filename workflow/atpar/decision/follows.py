"""The same question asked again: an earlier campaign and this one side by side [P36].

A row for each thing that both tell, in long form: what was asked, the stack, quality, durations,
cost. Nothing is judged here; what changed is marked, and what only one of the two has is said.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pandera.pandas as pa

from atpar.canonical import read_json
from atpar.decision.followed import lacking
from atpar.errors import AtparError
from atpar.money.tables import column, write_table
from atpar.rows import read_rows

SUBJECTS = ("question", "stack", "quality", "duration", "cost", "decision")

FOLLOWS = pa.DataFrameSchema(
    {
        "subject": column("what the row is about", pa.Check.isin(SUBJECTS)),
        "offer": column("the offer; empty: the campaign as a whole", missing=True),
        "variant": column("the variant; empty: the offer as a whole", missing=True),
        "item": column("what is compared"),
        "unit": column("its unit; empty for text", missing=True),
        "before": column("value in the earlier campaign", missing=True),
        "after": column("value in this campaign", missing=True),
        "changed": column("whether the two differ", pa.Check.isin(["true", "false"])),
        "ratio": column("after / before, where both are numbers above 0", missing=True),
        "reason": column("why a value is missing", missing=True),
    },
    strict=True,
)

ASKED = {
    "protocol/seal.json": (("digest", "sealed protocol"),),
    "corpus/fingerprint.json": (("corpus_digest", "corpus"), ("tokenizer_digest", "tokenizer")),
    "model/fingerprint.json": (
        ("model_digest", "model"),
        ("revision", "model revision"),
        ("source", "model source"),
    ),
}
STACK = ("device.name", "device.count", "driver", "software.torch", "software.transformers")
"""Shown even if they are the same; every other part of an environment only if it changed."""

OPTION = {
    "quality": (
        ("metric", None),
        ("metric_value", None),
        ("quality_verdict", None),
        ("failed_checks", None),
        ("entries_truncated", "entries"),
    ),
    "duration": (
        ("median_s", "s"),
        ("min_s", "s"),
        ("max_s", "s"),
        ("startup_median_s", "s"),
        ("entries_per_s", "1/s"),
        ("successes", "passes"),
        ("failures", "passes"),
    ),
}
COST = ("engaged_amount", "cost_per_deliverable")

Row = dict[str, Any]


def compare_campaigns(before: Path, after: Path, output: Path) -> None:
    """Write the comparison of two campaigns' folders (`results/<campaign>`) as a CSV table.

    AtparError when the earlier campaign's results aren't here.
    """
    for name in lacking(before):
        raise AtparError(
            f"{before / name}: not here, but this campaign follows {before.name!r}; bring that "
            "campaign's results to this machine and decide it first, or leave out `follows`"
        )
    rows = [*_asked(before, after), *_stack(before, after), *_options(before, after)]
    rows += _decisions(before, after)
    write_table(output, rows, FOLLOWS)


def _row(
    subject: str, item: str, one: Any, other: Any, offer: str = "", variant: str = "", unit=None
) -> Row:
    one, other = _text(one), _text(other)
    return {
        "subject": subject,
        "offer": offer,
        "variant": variant,
        "item": item,
        "unit": unit,
        "before": one,
        "after": other,
        "changed": one != other,
        "ratio": _ratio(one, other),
        "reason": _reason(one, other),
    }


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _reason(one: str | None, other: str | None) -> str | None:
    if one is None and other is None:
        return "neither campaign tells it"
    if one is None:
        return "the earlier campaign doesn't tell it"
    return "this campaign doesn't tell it" if other is None else None


def _ratio(one: str | None, other: str | None) -> str | None:
    try:
        before, after = Decimal(one or ""), Decimal(other or "")
    except InvalidOperation:
        return None
    return f"{after / before:.4f}" if before > 0 and after > 0 else None


def _asked(before: Path, after: Path) -> Iterator[Row]:
    for path, keys in ASKED.items():
        one, other = _json(before / path), _json(after / path)
        for key, item in keys:
            yield _row("question", item, one.get(key), other.get(key))


def _json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.exists() else {}


def _stack(before: Path, after: Path) -> Iterator[Row]:
    folders = [*before.glob("offers/*"), *after.glob("offers/*")]
    for offer in sorted({folder.name for folder in folders}):
        one, other = (
            dict(_leaves(_json(folder / "offers" / offer / "environment.json")))
            for folder in (before, after)
        )
        for item in sorted(one.keys() | other.keys() | set(STACK)):
            if item in STACK or (one and other and one.get(item) != other.get(item)):
                yield _row("stack", item, one.get(item), other.get(item), offer)


NOT_STACK = ("digest", "definition", "offer", "reasons", "code", "inspected_at_utc", "disk")
"""Parts of an environment that name it or how it was read, or are a reading of the moment."""


def _leaves(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Return dotted name -> value of what is stable in an environment."""
    for key, part in value.items():
        if not above and key in NOT_STACK:
            continue
        if isinstance(part, Mapping):
            yield from _leaves(part, f"{above}{key}.")
        else:
            yield f"{above}{key}", part if not isinstance(part, list) else _listed(part)


def _listed(part: list[Any]) -> str:
    return ", ".join(
        str(one.get("name", one)) if isinstance(one, Mapping) else str(one) for one in part
    )


def _options(before: Path, after: Path) -> Iterator[Row]:
    summaries = [_by_option(folder / "summary.csv") for folder in (before, after)]
    balances = [_by_option(folder / "balance.csv") for folder in (before, after)]
    for offer, variant in sorted({*summaries[0], *summaries[1]}):
        one, other = (table.get((offer, variant), {}) for table in summaries)
        for subject, items in OPTION.items():
            for item, unit in items:
                yield _row(subject, item, *_told(item, one, other), offer, variant, unit)
        one, other = (table.get((offer, variant), {}) for table in balances)
        currencies = {table["currency"] for table in (one, other) if table.get("currency")}
        unit = "/".join(sorted(currencies)) or None
        for item in COST:
            row = _row("cost", item, one.get(item), other.get(item), offer, variant, unit)
            # Amounts in two currencies have no ratio.
            yield row if len(currencies) < 2 else {**row, "changed": True, "ratio": None}


def _told(item: str, *rows: Mapping[str, str | None]) -> list[str | None]:
    """Return an item of each summary's row; a measured option without failed checks has none."""
    none = "none" if item == "failed_checks" else None
    return [(row.get(item) or none) if row else None for row in rows]


def _by_option(path: Path) -> dict[tuple[str, str], dict[str, str | None]]:
    rows = read_rows(path, ("offer", "variant"))
    return {(row["offer"] or "", row["variant"] or ""): row for row in rows}


def _decisions(before: Path, after: Path) -> Iterator[Row]:
    one, other = read_json(before / "decision.json"), read_json(after / "decision.json")
    yield _row("decision", "outcome", one.get("outcome"), other.get("outcome"))
    yield _row("decision", "choice", _choice(one), _choice(other))


def _choice(decision: Mapping[str, Any]) -> str | None:
    choice = decision.get("choice")
    return f"{choice['variant']} on {choice['offer']}" if choice else None
