"""Evaluate the quality of an option: metrics of each pass, subgroups, verdicts [P22], [P23]."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from atpar.canonical import read_json, write_json
from atpar.errors import AtparError
from atpar.quality.groups import Group, rows_of, subgroups
from atpar.quality.interval import difference_interval
from atpar.quality.metrics import Entries, Value, evaluate
from atpar.quality.predictions import column, label_codes, predicted_codes, score_batches
from atpar.quality.reproduction import Change, compare
from atpar.quality.verdict import Judgement, judge, judge_subgroup

DEFINITION = 1


@dataclass(frozen=True)
class Answers:
    """The reference table in memory: ids, labels as codes, and the subgroups to judge."""

    path: Path
    labels: list[str]
    ids: pa.Array
    codes: np.ndarray | None
    groups: list[Group]
    deliverables: dict[str, np.ndarray | slice]


@dataclass(frozen=True)
class Evidence:
    """A complete pass: its file and what was read from it."""

    attempt_id: str
    path: Path
    entries: Entries


def evaluate_option(
    checks: Path,
    predictions: list[Path],
    reference_checks: Path,
    reference_predictions: list[Path],
    reference: Path,
    fingerprint: Path,
    output: Path,
    protocol: dict[str, Any],
) -> None:
    """Write `quality/<offer>/<variant>.json` for all passes of one option.

    `predictions` and `reference_predictions` are in the order of the passes in `checks` and
    `reference_checks`. The reference pass is the reference variant's first complete one.
    """
    answers = read_answers(reference, read_json(fingerprint)["labels"], protocol)
    standard = first_complete(read_json(reference_checks)["passes"], reference_predictions, answers)
    passes: list[dict[str, Any]] = []
    first: Evidence | None = None
    for checked, path in zip(read_json(checks)["passes"], predictions, strict=True):
        if not checked["passed"]:
            passes.append(_unevaluated(checked))
            continue
        evidence = read_evidence(checked["attempt_id"], path, answers)
        passes.append(evaluate_pass(checked, evidence, standard, first, answers, protocol))
        first = first or evidence
    write_json(
        output,
        {
            "definition": DEFINITION,
            "metric": protocol["metric"],
            "reference_attempt_id": standard.attempt_id if standard else None,
            "passes": passes,
            "option": option_verdict(passes),
        },
    )


def read_answers(reference: Path, labels: list[str], protocol: dict[str, Any]) -> Answers:
    """Read the reference table and refuse labels that the model doesn't have."""
    present = pq.read_schema(reference).names
    given = column(reference, "label")
    codes = None
    if given.null_count < len(given):
        codes = label_codes(given, labels)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise AtparError(
                f"{reference}: entry {column(reference, 'id')[row]} has the label {given[row]}, "
                f"which is none of the model's ({', '.join(labels[:20])}); map it under "
                "`corpus.label_map`"
            )
    by_column = protocol["deliverable_column"]
    rows = {
        name: slice(None) if by_column is None else rows_of(reference, by_column, name)
        for name in protocol["deliverables"]
    }
    return Answers(
        reference,
        labels,
        column(reference, "id"),
        codes,
        list(subgroups(reference, protocol["subgroups"], present)),
        rows,
    )


def first_complete(
    passes: list[dict[str, Any]], predictions: list[Path], answers: Answers
) -> Evidence | None:
    """Return the first pass of the reference variant that passed its checks, if there is one."""
    for checked, path in zip(passes, predictions, strict=True):
        if checked["passed"]:
            return read_evidence(checked["attempt_id"], path, answers)
    return None


def read_evidence(attempt_id: str, path: Path, answers: Answers) -> Evidence:
    """Read a complete pass; its rows are in the order of the reference table."""
    predicted = predicted_codes(path, answers.labels)
    own, top = [], []
    start = 0
    for scores in score_batches(path):
        rows = slice(start, start + len(scores))
        if answers.codes is not None:
            own.append(np.take_along_axis(scores, answers.codes[rows, None], axis=1)[:, 0])
        top.append(np.take_along_axis(scores, predicted[rows, None], axis=1)[:, 0])
        start += len(scores)
    entries = Entries(
        answers.labels,
        predicted,
        answers.codes,
        np.concatenate(own) if own else None,
        np.concatenate(top) if top else None,
        scores=lambda: np.concatenate(list(score_batches(path))),
    )
    return Evidence(attempt_id, path, entries)


def evaluate_pass(
    checked: dict[str, Any],
    evidence: Evidence,
    standard: Evidence | None,
    first: Evidence | None,
    answers: Answers,
    protocol: dict[str, Any],
) -> dict[str, Any]:
    """Return the quality of one complete pass as the quality file holds it."""
    names = list(dict.fromkeys([protocol["metric"], *protocol["metrics"], "agreement"]))
    entries = _against(evidence.entries, standard)
    values = evaluate(names, entries)
    judgement = Judgement()
    judge(
        protocol,
        values[protocol["metric"]],
        _reference_value(protocol, standard),
        values["agreement"],
        judgement,
    )
    groups = [
        _evaluate_group(group, entries, standard, protocol, judgement) for group in answers.groups
    ]
    change = _change(evidence, standard, answers, protocol)
    _judge_reproduction(evidence, first, change, answers, protocol, judgement)
    return {
        "repetition": checked["repetition"],
        "attempt_id": checked["attempt_id"],
        "metrics": {name: value.value for name, value in values.items()},
        "undefined": {name: value.reason for name, value in values.items() if value.reason},
        "subgroups": groups,
        "deliverables": _deliverables(answers, entries, standard, protocol, judgement),
        "changed_labels": change.labels if change else None,
        "changed_ids": change.ids if change else [],
        "largest_score_difference": change.largest_score_difference if change else None,
        "interval": difference_interval(protocol["metric"], entries, protocol["seed"]),
        **judgement.as_values(),
    }


def option_verdict(passes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the verdict over all passes: accepted only if each of them is."""
    verdicts = {one["verdict"] for one in passes}
    verdict = "accepted"
    if "rejected" in verdicts:
        verdict = "rejected"
    elif verdicts != {"accepted"}:
        verdict = "not judged"
    failed = dict.fromkeys(check for one in passes for check in one["failed"])
    return {"verdict": verdict, "failed": list(failed)}


def _unevaluated(checked: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a pass whose predictions didn't pass their checks: no metric at all."""
    return {
        "repetition": checked["repetition"],
        "attempt_id": checked["attempt_id"],
        "metrics": {},
        "undefined": {},
        "subgroups": [],
        "deliverables": [],
        "changed_labels": None,
        "changed_ids": [],
        "largest_score_difference": None,
        "interval": None,
        "verdict": "rejected",
        "failed": checked["failed"],
        "reasons": checked["problems"],
    }


def _against(entries: Entries, standard: Evidence | None) -> Entries:
    if standard is None:
        return entries
    return Entries(
        entries.labels,
        entries.predicted,
        entries.reference,
        entries.own_score,
        entries.top_score,
        standard.entries.predicted,
        entries.scores,
    )


def _reference_value(
    protocol: dict[str, Any], standard: Evidence | None, rows: np.ndarray | slice = slice(None)
) -> Value:
    """Return the main metric of the reference pass over these rows."""
    if standard is None:
        variant = protocol["tolerance"]["reference"]
        return Value(None, f"the reference variant {variant!r} has no complete pass on this offer")
    name = protocol["metric"]
    entries = _against(standard.entries, standard).part(rows)
    return evaluate([name], entries)[name]


def _evaluate_group(
    group: Group,
    entries: Entries,
    standard: Evidence | None,
    protocol: dict[str, Any],
    judgement: Judgement,
) -> dict[str, Any]:
    name = protocol["metric"]
    values = evaluate([name, "agreement"], entries.part(group.rows))
    found = {
        "column": group.column,
        "value": group.value,
        "entries": len(group.rows),
        "metric": name,
        "value_of_metric": values[name].value,
        "undefined": values[name].reason,
    }
    reference = _reference_value(protocol, standard, group.rows)
    return judge_subgroup(protocol, found, reference, values["agreement"], judgement)


def _change(
    evidence: Evidence, standard: Evidence | None, answers: Answers, protocol: dict[str, Any]
) -> Change | None:
    if standard is None:
        return None
    return compare(
        answers.ids,
        (standard.entries.predicted, evidence.entries.predicted),
        (standard.path, evidence.path),
        protocol["reproduction"],
    )


def _judge_reproduction(
    evidence: Evidence,
    first: Evidence | None,
    change: Change | None,
    answers: Answers,
    protocol: dict[str, Any],
    judgement: Judgement,
) -> None:
    """Judge the pass against the option's first complete pass and against the reference pass."""
    kind = protocol["reproduction"]["kind"]
    if kind == "acceptable":
        return
    if change is None:
        judgement.leave("reproduction can't be judged: the reference has no complete pass")
    changes = [("reference", change)]
    if first is not None:
        changes.append(("option's first pass", _change(evidence, first, answers, protocol)))
    for other, found in changes:
        broken = found.violates(kind) if found else None
        if broken:
            judgement.fail("reproduction", f"against the {other}: {broken}")


def _deliverables(
    answers: Answers,
    entries: Entries,
    standard: Evidence | None,
    protocol: dict[str, Any],
    whole: Judgement,
) -> list[dict[str, Any]]:
    """Return the verdict of each expected deliverable; several are judged by their own entries."""
    if protocol["deliverable_column"] is None:
        return [{"deliverable": protocol["deliverables"][0], **whole.as_values()}]
    found = []
    for name, rows in answers.deliverables.items():
        judgement = Judgement()
        values = evaluate([protocol["metric"], "agreement"], entries.part(rows))
        judge(
            protocol,
            values[protocol["metric"]],
            _reference_value(protocol, standard, rows),
            values["agreement"],
            judgement,
            name,
        )
        found.append({"deliverable": name, **judgement.as_values()})
    return found
