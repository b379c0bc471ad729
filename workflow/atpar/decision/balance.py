"""The tables that a decision follows from, read as text and put side by side by option."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atpar.canonical import read_json
from atpar.decision.amounts import Key
from atpar.decision.tables import ATTEMPTS, DELIVERABLES, SEPARATION, SUMMARY
from atpar.errors import AtparError
from atpar.rows import is_true, read_rows

Row = Mapping[str, Any]

BALANCE_COLUMNS = (
    "offer",
    "variant",
    "deliverables_expected",
    "deliverables_accepted",
    "engaged_amount",
    "currency",
    "engaged_reason",
    "unknown_items",
    "cost_per_deliverable",
    "cost_per_deliverable_reason",
    "window_h",
    "covers_window",
)
WINDOW_COLUMNS = ("offer", "ends_utc", "deadline_utc", "meets_deadline")


@dataclass(frozen=True)
class Tables:
    """Everything that a decision reads; nothing else enters it."""

    protocol: Mapping[str, Any]
    seal_digest: str
    evaluation_digest: str
    summary: Mapping[Key, Row]
    balance: Mapping[Key, Row]
    windows: Mapping[str, Row]
    attempts: Sequence[Row]
    deliverables: Sequence[Row]
    pairs: Sequence[Row]
    findings: Mapping[str, Any]
    environments: Mapping[str, Mapping[str, Any]]
    used_elsewhere: Mapping[str, Any]
    """What the seal says of other uses of the evaluation corpus: `other_protocols`, `overlap`."""

    def counted(self, option: Key) -> list[Row]:
        """Return the option's attempts that count and ended well."""
        return [
            row
            for row in self.attempts
            if (row["offer"], row["variant"]) == option
            and is_true(row["counted"])
            and row["status"] == "ok"
        ]

    def told_apart(self, first: Key, other: Key) -> Row | None:
        """Return the pair's row if the sealed rule tells them apart."""
        for row in self.pairs:
            keys = {(row["offer_a"], row["variant_a"]), (row["offer_b"], row["variant_b"])}
            if keys == {first, other} and is_true(row["separated"]):
                return row
        return None


def read_tables(
    seal: Path,
    attempts: Path,
    summary: Path,
    separation: Path,
    findings: Path,
    deliverables: Path,
    balance: Path,
    windows: Path,
    environments: Sequence[Path],
) -> Tables:
    """Read the tables. AtparError if an option of the summary has no row in the balance."""
    sealed = read_json(seal)
    options = _by_option(read_rows(summary, SUMMARY.columns))
    balances = _by_option(read_rows(balance, BALANCE_COLUMNS))
    for offer, variant in options:
        if (offer, variant) not in balances:
            raise AtparError(
                f"{balance}: no row for {variant} on {offer}, which {summary} has; "
                "the two aren't of the same campaign"
            )
    return Tables(
        protocol=sealed["sealed"]["protocol"],
        seal_digest=sealed["digest"],
        evaluation_digest=sealed["sealed"]["evaluation_digest"],
        summary=options,
        balance=balances,
        windows={row["offer"]: row for row in read_rows(windows, WINDOW_COLUMNS)},
        attempts=read_rows(attempts, ATTEMPTS.columns),
        deliverables=read_rows(deliverables, DELIVERABLES.columns),
        pairs=read_rows(separation, SEPARATION.columns),
        findings=read_json(findings),
        environments={path.parent.name: read_json(path) for path in environments},
        used_elsewhere={
            "other_protocols": sealed.get("other_protocols_on_this_corpus") or {},
            "overlap": sealed.get("overlap"),
        },
    )


def _by_option(rows: Sequence[Row]) -> dict[Key, Row]:
    return {(row["offer"], row["variant"]): row for row in rows}
