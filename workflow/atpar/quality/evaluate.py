"""Evaluate the quality of an option: metrics of each pass, subgroups, verdicts [P22], [P23]."""

from pathlib import Path
from typing import Any

from atpar.canonical import read_json, write_json
from atpar.quality.boundary import drop
from atpar.quality.evidence import (
    Answers,
    Evidence,
    Standard,
    read_answers,
    read_evidence,
    read_standard,
)
from atpar.quality.groups import Group
from atpar.quality.interval import difference_interval
from atpar.quality.metrics import Entries, evaluate
from atpar.quality.reproduction import Change, compare
from atpar.quality.values import Value
from atpar.quality.verdict import Judgement, judge, judge_subgroup

DEFINITION = 1


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
    answers = read_answers(reference, read_json(fingerprint), protocol)
    standard = read_standard(
        read_json(reference_checks)["passes"], reference_predictions, answers, protocol
    )
    names = metric_names(protocol)
    passes: list[dict[str, Any]] = []
    first: Evidence | None = None
    own = read_json(checks)
    for checked, path in zip(own["passes"], predictions, strict=True):
        if not checked["passed"]:
            passes.append(_unevaluated(checked))
            continue
        evidence = read_evidence(checked["attempt_id"], path, answers, names)
        passes.append(evaluate_pass(checked, evidence, standard, first, answers, protocol))
        first = first or evidence
    write_json(
        output,
        {
            "definition": DEFINITION,
            "seal_digest": own["seal_digest"],
            "metric": protocol["metric"],
            "reference_attempt_id": standard.evidence.attempt_id if standard.evidence else None,
            "passes": passes,
            "option": option_verdict(passes),
        },
    )


def metric_names(protocol: dict[str, Any]) -> list[str]:
    """Return the metrics that are computed of each pass: the main one first."""
    return list(dict.fromkeys([protocol["metric"], *protocol["metrics"], "agreement"]))


def evaluate_pass(
    checked: dict[str, Any],
    evidence: Evidence,
    standard: Standard,
    first: Evidence | None,
    answers: Answers,
    protocol: dict[str, Any],
) -> dict[str, Any]:
    """Return the quality of one complete pass as the quality file holds it."""
    main = protocol["metric"]
    entries = evidence.against(standard.evidence)
    values = evaluate(metric_names(protocol), entries)
    judgement = Judgement()
    judge(protocol, values[main], standard.whole, values["agreement"], judgement)
    groups = [
        _evaluate_group(group, entries, value, protocol, judgement)
        for group, value in zip(answers.groups, standard.groups, strict=True)
    ]
    change = _change(evidence, standard.evidence, answers, protocol)
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
        "difference": _difference(values[main], standard.whole),
        "interval": difference_interval(main, entries, protocol["seed"]),
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
        "difference": None,
        "interval": None,
        "verdict": "rejected",
        "failed": checked["failed"],
        "reasons": checked["problems"],
    }


def _difference(value: Value, reference: Value) -> float | None:
    """Return the main metric minus the reference pass'; negative: worse."""
    if value.value is None or reference.value is None:
        return None
    return -drop(reference.value, value.value) + 0.0


def _evaluate_group(
    group: Group,
    entries: Entries,
    reference: Value,
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
        "value_of_reference": reference.value,
        "undefined": values[name].reason,
    }
    return judge_subgroup(protocol, found, reference, values["agreement"], judgement)


def _change(
    evidence: Evidence, other: Evidence | None, answers: Answers, protocol: dict[str, Any]
) -> Change | None:
    """Return how the pass differs from the other one, the one that it should reproduce."""
    if other is None:
        return None
    return compare(
        answers.path,
        evidence.entries.alike(other.entries),
        (other.path, evidence.path),
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
    changes = [
        ("reference", change),
        ("option's first pass", _change(evidence, first, answers, protocol)),
    ]
    for other, found in changes:
        broken = found.violates(kind) if found else None
        if broken:
            judgement.fail("reproduction", f"against the {other}: {broken}")


def _deliverables(
    answers: Answers,
    entries: Entries,
    standard: Standard,
    protocol: dict[str, Any],
    whole: Judgement,
) -> list[dict[str, Any]]:
    """Return the verdict of each expected deliverable; several are judged by their own entries."""
    if protocol["deliverable_column"] is None:
        only = {"deliverable": protocol["deliverables"][0], "entries": answers.entries}
        return [only | whole.as_values()]
    found = []
    for name, rows in answers.deliverables.items():
        judgement = Judgement()
        values = evaluate([protocol["metric"], "agreement"], entries.part(rows))
        judge(
            protocol,
            values[protocol["metric"]],
            standard.deliverables[name],
            values["agreement"],
            judgement,
            name,
        )
        count = int(rows.sum())
        found.append({"deliverable": name, "entries": count, **judgement.as_values()})
    return found
