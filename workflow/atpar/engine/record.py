"""The record of an attempt: every field is there from the start, None until it is known."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atpar.engine.clocks import (
    DISAGREEMENT_LIMIT_S,
    NOT_REACHED,
    PHASES,
    WallAndMonotonic,
    local_zone,
    utc_text,
)
from atpar.engine.job import Inputs, seed_of
from atpar.engine.outcome import Outcome
from atpar.engine.parents import allocation_notes
from atpar.journal.attempts import attempt_id

DEFINITION = 1
"""Version of the record's fields and of what they mean."""

FROM_WORKER = (
    "main_time_s",
    "device_time_s",
    "entries_completed",
    "tokens_real",
    "tokens_padded",
    "entries_truncated",
    "batches",
    "marks",
    "members",
    "graphs_compiled",
    "recompilations_measured",
    "device",
    "attention_used",
    "dtype_used",
    "threads_used",
    "in_effect",
    "resumed",
    "exported_digest",
    "conditions",
    "overlapping_phases",
)


def started_record(
    settings: Mapping[str, Any],
    inputs: Inputs,
    *,
    repetition: int,
    number: int,
    place: Mapping[str, int],
    session: str,
    software: Mapping[str, str | None],
    clock: WallAndMonotonic,
) -> dict[str, Any]:
    """Return the record as it is known before the worker runs."""
    offer, variant = settings["offer"]["offer"], settings["variant"]["variant"]
    fingerprint, corpus, seal, environment = (
        json.loads(Path(path).read_text(encoding="utf-8"))
        for path in (
            inputs.fingerprint,
            inputs.corpus_fingerprint,
            inputs.seal,
            inputs.environment,
        )
    )
    return {
        "definition": DEFINITION,
        "campaign": settings["campaign"],
        "offer": offer,
        "variant": variant,
        "repetition": repetition,
        "attempt_id": attempt_id(offer, variant, repetition, number),
        "attempt_number": number,
        "status": None,
        "phase": "start",
        "reason": None,
        "exit_code": None,
        "signal": None,
        "seal_digest": seal["digest"],
        "evaluation_digest": corpus["evaluation_digest"],
        "corpus_digest": corpus["corpus_digest"],
        "model_digest": fingerprint["model_digest"],
        "tokenizer_digest": fingerprint["tokenizer_digest"],
        "environment_digest": environment["digest"],
        "variant_settings": settings["variant"],
        "offer_settings": settings["offer"],
        "software": dict(software),
        "seed": seed_of(settings["variant"], settings["protocol"], repetition),
        "planned_rank": place["rank"],
        "position": place["position"],
        "round": place["round"],
        "session_id": session,
        "started_utc": clock.started_utc(),
        "finished_utc": None,
        "zone": local_zone(),
        "clock_disagreement_s": None,
        "phases_s": dict.fromkeys(PHASES),
        "phase_reasons": dict.fromkeys(PHASES, NOT_REACHED),
        "overlapping_phases": [],
        "main_time_s": None,
        "main_time_reason": "the attempt didn't end as ok",
        "span_s": None,
        "device_time_s": None,
        "wall_time_s": None,
        "entries_expected": None,
        "entries_completed": None,
        "tokens_real": None,
        "tokens_padded": None,
        "entries_truncated": None,
        "batches": None,
        "marks": None,
        "members": [],
        "graphs_compiled": None,
        "recompilations_measured": None,
        "memory": {},
        "memory_reasons": {},
        "device": {key: environment["device"].get(key) for key in ("kind", "name", "uuid")},
        "attention_used": None,
        "dtype_used": None,
        "threads_used": None,
        "in_effect": None,
        "resumed": None,
        "exported_digest": None,
        "conditions": {},
        "predictions_path": None,
        "predictions_digest": None,
        "log_tail": [],
        "notes": allocation_notes(),
    }


def finished_record(
    record: Mapping[str, Any],
    outcome: Outcome,
    result: Mapping[str, Any],
    progress: Mapping[str, Any],
    clock: WallAndMonotonic,
) -> dict[str, Any]:
    """Return the record completed by the worker's result, or by what a killed one left."""
    disagreement = clock.disagreement_s()
    notes = [*record["notes"], *result.get("notes", [])]
    if abs(disagreement) > DISAGREEMENT_LIMIT_S:
        notes.append(
            f"clocks disagree by {disagreement:.1f} s: the wall clock was set, or the machine was "
            "suspended; durations are by the monotonic clock"
        )
    finished = {
        **record,
        **{key: result[key] for key in FROM_WORKER if key in result},
        "status": outcome.status,
        "reason": outcome.reason,
        "phase": result.get("phase", progress.get("phase", "start")),
        "phases_s": result.get("phases_s", record["phases_s"]),
        "phase_reasons": result.get("phase_reasons", record["phase_reasons"]),
        "memory": result.get("memory", {}),
        "memory_reasons": result.get("memory_reasons", {}),
        "finished_utc": utc_text(clock.wall()),
        "clock_disagreement_s": round(disagreement, 6),
        "wall_time_s": clock.elapsed_s(),
        "span_s": None if outcome.status == "ok" else _span_s(progress, clock.elapsed_s()),
        "notes": notes,
    }
    if finished["entries_completed"] is None:
        finished["entries_completed"] = progress.get("entries_completed", 0)
    return judged(finished)


def _span_s(progress: Mapping[str, Any], elapsed_s: float) -> float | None:
    """Return how long an attempt that didn't end well was in its span; None: it never was."""
    if progress.get("measured_s") is None:
        return None
    return round(elapsed_s - (progress["wall_time_s"] - progress["measured_s"]), 3)


def judged(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with a main time only if the attempt is `ok`: no quick failure counts."""
    if record["status"] == "ok":
        return {**record, "main_time_reason": None}
    reason = f"the attempt ended as {record['status']} in phase {record['phase']}"
    return {**record, "main_time_s": None, "main_time_reason": reason}
