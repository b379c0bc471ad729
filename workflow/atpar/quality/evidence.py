"""What is read before anything is judged: reference answers, and the predictions of passes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from atpar.corpus.answers import answer_codes
from atpar.errors import AtparError
from atpar.model.heads import Head, head_of
from atpar.quality.groups import Group, label_groups, rows_of, subgroups
from atpar.quality.metrics import SCORE_METRICS, Entries, evaluate
from atpar.quality.predictions import coded, ids_at, predicted_answers, score_batches
from atpar.quality.values import Value

WHOLE = slice(None)


@dataclass(frozen=True)
class Answers:
    """Of the reference table: its entries' answers as codes, and the parts to judge."""

    path: Path
    head: Head
    bound: tuple[float, float]
    entries: int
    codes: np.ndarray | None
    groups: list[Group]
    deliverables: dict[str, np.ndarray | slice]


@dataclass(frozen=True)
class Evidence:
    """A complete pass: its file and what was read from it."""

    attempt_id: str
    path: Path
    entries: Entries

    def against(self, standard: "Evidence | None") -> Entries:
        """Return the entries with the answers that the reference pass gave them."""
        if standard is None:
            return self.entries
        return replace(self.entries, other=replace(standard.entries, reference=None))


@dataclass(frozen=True)
class Standard:
    """The reference pass, with the main metric over everything that is judged, once for all."""

    evidence: Evidence | None
    whole: Value
    groups: list[Value]
    deliverables: dict[str, Value]


def read_answers(reference: Path, model: dict[str, Any], protocol: dict[str, Any]) -> Answers:
    """Read the reference table and refuse answers that the model can't give.

    `model` is the content of model/fingerprint.json.
    """
    present = pq.read_schema(reference).names
    head = head_of(model, protocol.get("label_threshold"))
    given = coded(reference, "label")
    codes = None
    if given.null_count < len(given):
        codes, known = answer_codes(given, list(head.labels), head.answer)
        if not known.all():
            row = int(np.argmin(known))
            (entry,) = ids_at(reference, np.array([row]))
            raise AtparError(
                f"{reference}: entry {entry} has the answer {given[row]}, "
                f"which is none of the model's ({', '.join(head.labels[:20])}); map it under "
                "`corpus.label_map`"
            )
    groups = []
    expected = protocol.get("subgroup_values") or {}
    for name in protocol["subgroups"]:
        if name == "label" and head.answer == "multiple" and codes is not None:
            groups += label_groups(codes, head.labels, expected.get(name, ()))
        else:
            groups += subgroups(reference, [name], present, expected)
    rule = protocol["reproduction"]
    return Answers(
        reference,
        head,
        (rule["absolute"], rule["relative"]),
        len(given),
        codes,
        groups,
        _deliverable_rows(reference, present, protocol),
    )


def _deliverable_rows(
    reference: Path, present: list[str], protocol: dict[str, Any]
) -> dict[str, np.ndarray | slice]:
    """Return the entries of each expected deliverable; refuse one that has none."""
    name = protocol["deliverable_column"]
    if name is None:
        return {protocol["deliverables"][0]: WHOLE}
    if name not in present:
        raise AtparError(f"deliverable_column: {reference} has no column {name!r}")
    rows = {one: rows_of(reference, name, one) for one in protocol["deliverables"]}
    for deliverable, mask in rows.items():
        if not mask.any():
            raise AtparError(
                f"{reference}: no entry of the evaluation corpus has {deliverable!r} in the column "
                f"{name!r}, so this deliverable can't be judged"
            )
    if not np.logical_or.reduce(list(rows.values())).all():
        raise AtparError(
            f"{reference}: the column {name!r} has values that are no expected deliverable; "
            "name each of them under protocol.deliverables"
        )
    return rows


def read_evidence(
    attempt_id: str, path: Path, answers: Answers, metrics: Iterable[str]
) -> Evidence:
    """Read a complete pass; its rows are in the order of the reference table.

    Scores are read only if one of the `metrics` needs them: they are most of the file.
    """
    predicted = predicted_answers(path, answers.head)
    own = top = None
    if SCORE_METRICS.intersection(metrics) and len(predicted):
        own, top = _picked_scores(path, answers, predicted)
    entries = Entries(
        list(answers.head.labels),
        predicted,
        answers.codes,
        own,
        top,
        answer=answers.head.answer,
        bound=answers.bound,
        scores=lambda: np.concatenate(list(score_batches(path))),
    )
    return Evidence(attempt_id, path, entries)


def _picked_scores(
    path: Path, answers: Answers, predicted: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the scores of the reference label and of the predicted one, entry by entry.

    Of several labels: for each the score of the right side (that it applies, or doesn't).
    """
    if answers.head.answer == "multiple":
        if answers.codes is None:
            return None, None
        scores = np.concatenate(list(score_batches(path)))
        return np.where(answers.codes, scores, 1 - scores), None
    picked: tuple[list, list] = ([], [])
    start = 0
    for scores in score_batches(path):
        rows = slice(start, start + len(scores))
        for codes, pieces in zip((answers.codes, predicted), picked, strict=True):
            if codes is not None:
                pieces.append(np.take_along_axis(scores, codes[rows, None], axis=1)[:, 0])
        start += len(scores)
    own, top = picked
    return np.concatenate(own) if own else None, np.concatenate(top)


def read_standard(
    passes: list[dict[str, Any]],
    predictions: list[Path],
    answers: Answers,
    protocol: dict[str, Any],
) -> Standard:
    """Return the first pass of the reference variant that passed its checks, measured once."""
    metric = protocol["metric"]
    for checked, path in zip(passes, predictions, strict=True):
        if checked["passed"]:
            evidence = read_evidence(checked["attempt_id"], path, answers, [metric])
            entries = evidence.against(evidence)
            return Standard(
                evidence,
                evaluate([metric], entries)[metric],
                [evaluate([metric], entries.part(group.rows))[metric] for group in answers.groups],
                {
                    name: evaluate([metric], entries.part(rows))[metric]
                    for name, rows in answers.deliverables.items()
                },
            )
    variant = protocol["tolerance"]["reference"]
    absent = Value(None, f"the reference variant {variant!r} has no complete pass on this offer")
    return Standard(
        None, absent, [absent] * len(answers.groups), dict.fromkeys(answers.deliverables, absent)
    )
