"""The raw table: one row an attempt, from the journals, the checks and the verdicts [P17]."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from atpar.canonical import read_json
from atpar.config.exclusions import Exclusion
from atpar.config.load import read_table
from atpar.decision.cells import joined
from atpar.decision.tables import ATTEMPTS, MEMORY, TIMED
from atpar.errors import AtparError, did_you_mean
from atpar.journal.attempts import Record, read_attempts
from atpar.money.tables import write_table

PassKey = tuple[str, str, int]

COPIED = (
    "attempt_id",
    "campaign",
    "offer",
    "variant",
    "repetition",
    "attempt_number",
    "planned_rank",
    "round",
    "position",
    "session_id",
    "status",
    "phase",
    "reason",
    "exit_code",
    "signal",
    "started_utc",
    "finished_utc",
    "zone",
    "clock_disagreement_s",
    "main_time_s",
    "main_time_reason",
    "wall_time_s",
    "entries_expected",
    "entries_completed",
    "tokens_real",
    "tokens_padded",
    "entries_truncated",
    "attention_used",
    "seed",
    "seal_digest",
    "evaluation_digest",
    "model_digest",
    "tokenizer_digest",
    "environment_digest",
    "predictions_path",
    "definition",
)
"""Fields of a record that become cells under the same name."""

SETTINGS = (
    "batch_size",
    "token_budget",
    "quantization",
    "precision",
    "order",
    "padding",
    "max_length",
)
"""Fields of the variant's settings that become cells under the same name."""


def tabulate_attempts(
    journals: Path,
    records: Sequence[Path],
    checks: Sequence[Path],
    qualities: Sequence[Path],
    exclusions: Path,
    metric: str,
    output: Path,
    series: Mapping[str, str] | None = None,
) -> None:
    """Write attempts.csv: every attempt in the journals of the folder `journals`.

    `records` are the passes' records that count; each must be in a journal, since a table without
    the attempts before it would hide failures. `series` is variant -> series, as planned now: a
    pass doesn't depend on the name of its series.
    """
    attempts = read_journals(journals)
    known = {record["attempt_id"] for record in attempts}
    for path in records:
        name = read_json(path)["attempt_id"]
        if name not in known:
            raise AtparError(
                f"{path}: attempt {name} is in no journal under {journals}; bring the node's "
                "journal along with its passes"
            )
    rows = attempt_rows(
        attempts,
        by_attempt(checks),
        by_attempt(qualities),
        read_exclusions(exclusions, known),
        metric,
    )
    for row in rows:
        row["series"] = (series or {}).get(row["variant"])
    write_table(output, rows, ATTEMPTS)


def read_journals(folder: Path) -> list[Record]:
    """Return the attempts of all journals, in the order in which they were started."""
    attempts = [one for path in sorted(folder.glob("*.jsonl")) for one in read_attempts(path)]
    return sorted(attempts, key=lambda record: (record.get("started_utc") or "", record["offer"]))


def by_attempt(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the passes of checks or quality files by their attempt."""
    return {one["attempt_id"]: one for path in files for one in read_json(path)["passes"]}


def read_exclusions(path: Path, known: Iterable[str]) -> dict[str, Exclusion]:
    """Read the exclusions table; refuse an attempt that was never made."""
    known = list(known)
    rows = read_table(path, Exclusion, "attempt_id", may_be_empty=True)
    for row in rows:
        if row.attempt_id not in known:
            raise AtparError(
                f"{path}: attempt {row.attempt_id!r} isn't in the journal; "
                + did_you_mean(row.attempt_id, known)
            )
    return {row.attempt_id: row for row in rows}


def attempt_rows(
    attempts: Sequence[Record],
    checks: Mapping[str, dict[str, Any]],
    qualities: Mapping[str, dict[str, Any]],
    exclusions: Mapping[str, Exclusion],
    metric: str,
) -> list[dict[str, Any]]:
    """Return the rows of attempts.csv."""
    last = last_numbers(attempts)
    return [
        _row(
            record,
            checks.get(record["attempt_id"]),
            qualities.get(record["attempt_id"]),
            exclusions.get(record["attempt_id"]),
            record["attempt_number"] == last[_pass(record)],
            metric,
        )
        for record in attempts
    ]


def last_numbers(attempts: Iterable[Record]) -> dict[PassKey, int]:
    """Return the number of the last attempt at each pass."""
    last: dict[PassKey, int] = {}
    for record in attempts:
        key = _pass(record)
        last[key] = max(last.get(key, 0), record["attempt_number"])
    return last


def _pass(record: Record) -> PassKey:
    return record["offer"], record["variant"], record["repetition"]


def _row(
    record: Record,
    checked: dict[str, Any] | None,
    quality: dict[str, Any] | None,
    exclusion: Exclusion | None,
    last: bool,
    metric: str,
) -> dict[str, Any]:
    phases = record.get("phases_s") or {}
    memory = record.get("memory") or {}
    row = {name: record.get(name) for name in COPIED}
    row |= {name: record.get("variant_settings", {}).get(name) for name in SETTINGS}
    row |= {f"{name}_s": phases.get(name) for name in TIMED}
    row |= {name: memory.get(name) for name in MEMORY}
    row |= {
        "counted": last and exclusion is None,
        "excluded": exclusion is not None,
        "exclusion_cause": f"{exclusion.cause} ({exclusion.evidence})" if exclusion else None,
        "phase_reasons": _reasons(record.get("phase_reasons")),
        "memory_reasons": _reasons(record.get("memory_reasons")),
        "device": _device(record.get("device")),
        **_energy((record.get("conditions") or {}).get("energy") or []),
        "notes": joined(_notes(record, last), by=" | "),
    }
    return {**row, **_verdict(record, checked, quality, metric)}


def _verdict(
    record: Record,
    checked: dict[str, Any] | None,
    quality: dict[str, Any] | None,
    metric: str,
) -> dict[str, Any]:
    """Return the cells on checks and quality; without a check, only a failure is certain."""
    checked = checked or {}
    verdict = (quality or {}).get("verdict")
    if verdict is None and record["status"] != "ok":
        verdict = "rejected"
    accepted = {"accepted": True, "rejected": False}.get(verdict)
    failed = (quality or {}).get("failed") or ([] if record["status"] == "ok" else ["status"])
    return {
        "expected_ids": checked.get("expected_ids"),
        "observed_ids": checked.get("observed_ids"),
        "ids_match": checked.get("ids_match"),
        "metric": metric,
        "metric_value": (quality or {}).get("metrics", {}).get(metric),
        "corpus_accepted": accepted,
        "failed_checks": joined(failed),
    }


def _reasons(reasons: Mapping[str, str] | None) -> str | None:
    return joined((f"{name}: {reason}" for name, reason in (reasons or {}).items()), by=" | ")


def _device(device: Mapping[str, Any] | None) -> str | None:
    device = device or {}
    return joined(filter(None, (device.get("kind"), device.get("name"), device.get("uuid"))), " ")


def _energy(cards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the energy of all cards together, known only if that of each card is."""
    reasons = [f"{one['validity']}: {one['reason']}" for one in cards if one["energy_j"] is None]
    known = cards and not reasons
    return {
        "energy_j": sum(one["energy_j"] for one in cards) if known else None,
        "energy_reason": joined(dict.fromkeys(reasons), by=" | "),
    }


def _notes(record: Record, last: bool) -> list[str]:
    notes = [str(note) for note in record.get("notes") or []]
    if not last:
        notes.append("a later attempt at this pass takes its place")
    return notes
