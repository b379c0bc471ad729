"""Check the prediction file of a pass against exactly the expected identifiers [P11], [P17]."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pandera.errors import SchemaErrors

from atpar.canonical import file_digest, read_json, write_json
from atpar.model.heads import (
    BINARY,
    MULTI_LABEL,
    REGRESSION,
    SINGLE_LABEL,
    Head,
    head_of,
)
from atpar.quality.predictions import answers_of, column, pieces, score_labels, scores_of
from atpar.quality.schema import COLUMNS, EXAMPLES, PREDICTIONS, column_problems

DEFINITION = 1


@dataclass
class Findings:
    """What a check of one pass found; a check's name stands once in `failed`."""

    failed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def fail(self, check: str, problem: str) -> None:
        """Note that `check` failed, and why."""
        if check not in self.failed:
            self.failed.append(check)
        self.problems.append(problem)


def check_option(
    records: list[Path],
    predictions: list[Path],
    reference: Path,
    fingerprint: Path,
    corpus: Path,
    seal: Path,
    output: Path,
) -> None:
    """Check all repetitions of one option and write `checks/<offer>/<variant>.json`.

    `reference` holds the expected ids in order of passage, `fingerprint` the model's labels,
    `corpus` the evaluation's digest, `seal` the protocol's.
    """
    expected = column(reference, "id")
    model = read_json(fingerprint)
    sealed = read_json(seal)
    head = head_of(model, sealed["sealed"]["protocol"].get("label_threshold"))
    digests = {
        "evaluation_digest": read_json(corpus)["evaluation_digest"],
        "model_digest": model["model_digest"],
        "seal_digest": sealed["digest"],
    }
    passes = []
    for path, predicted in zip(records, predictions, strict=True):
        record = read_json(path)
        findings = check_pass(record, predicted, expected, head, digests)
        passes.append(
            {"repetition": record["repetition"], "attempt_id": record["attempt_id"], **findings}
        )
    write_json(
        output,
        {"definition": DEFINITION, "seal_digest": digests["seal_digest"], "passes": passes},
    )


def check_pass(
    record: dict[str, Any],
    predictions: Path,
    expected: pa.Array,
    head: Head,
    digests: dict[str, str],
) -> dict[str, Any]:
    """Return the findings for one pass as plain values, ready for the checks file."""
    findings = Findings()
    with ThreadPoolExecutor(1) as aside:
        digest = aside.submit(file_digest, predictions)
        try:
            problems, rows = read_file(predictions, expected, head)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            problems, rows = [f"{predictions} can't be read as Parquet: {error}"], None
    check_record(record, predictions, digest.result(), len(expected), digests, findings)
    for problem in problems:
        findings.fail("format", problem)
    if rows is None:
        findings.facts.update(no_facts(len(expected)))
    else:
        check_ids(predictions, expected, rows.ids_equal, findings)
        rows.tell(head, findings)
        if record["entries_completed"] != rows.number:
            findings.fail(
                "counts",
                f"the record says {record['entries_completed']} entries completed, "
                f"the file holds {rows.number}",
            )
    return {
        **findings.facts,
        "format_ok": not problems,
        "scores_finite": rows is not None and "scores_finite" not in rows.faults,
        "passed": not findings.failed,
        "failed": findings.failed,
        "problems": findings.problems,
    }


def read_file(predictions: Path, expected: pa.Array, head: Head) -> tuple[list[str], "Rows | None"]:
    """Return what is wrong with the file's columns, and its rows if nothing is."""
    labels = list(head.labels)
    problems = column_problems(pq.read_schema(predictions), len(labels), head.answer)
    named = score_labels(predictions)
    if not problems and named != labels:
        problems = [f"the scores are of the classes {named}, the model's labels are {labels}"]
    # Without its columns a file has no ids, rows or scores to check.
    return problems, None if problems else read_rows(predictions, expected, head)


def check_record(
    record: dict[str, Any],
    predictions: Path,
    digest: str,
    expected: int,
    digests: dict[str, str],
    findings: Findings,
) -> None:
    """Check what the record says of the pass: its end, its work, and its file."""
    if record["status"] != "ok":
        findings.fail(
            "status",
            f"the pass ended with status {record['status']} in phase {record['phase']}: "
            f"{record['reason'] or 'no reason recorded'}",
        )
    for name, own in digests.items():
        if record[name] != own:
            findings.fail(
                name,
                f"the pass was measured under {name} {_short(record[name])}, "
                f"this campaign's is {_short(own)}",
            )
    if record["entries_expected"] != expected:
        findings.fail(
            "counts",
            f"the pass expected {record['entries_expected']} entries, the corpus has {expected}",
        )
    if record["predictions_digest"] not in (None, digest):
        findings.fail("predictions_digest", f"{predictions} isn't the file that the pass wrote")


def check_ids(predictions: Path, expected: pa.Array, equal: bool, findings: Findings) -> None:
    """Find duplicated, missing and foreign ids, and whether the order is that of passage.

    `equal` says that the file's ids are the expected ones; those are distinct, so that nothing can
    be wrong with them.
    """
    findings.facts.update(
        {
            "expected_ids": len(expected),
            "observed_ids": len(expected),
            "ids_match": True,
            "order_match": True,
            "duplicates": 0,
            "missing": 0,
            "foreign": 0,
            "examples": {},
        }
    )
    if equal:
        return
    observed = column(predictions, "id").drop_null()
    findings.facts["observed_ids"] = len(observed)
    distinct = pc.unique(observed)
    counts = pc.value_counts(observed)
    found = {
        "duplicates": counts.field("values").filter(pc.greater(counts.field("counts"), 1)),
        "missing": expected.filter(pc.invert(pc.is_in(expected, value_set=distinct))),
        "foreign": distinct.filter(pc.invert(pc.is_in(distinct, value_set=expected))),
    }
    facts = findings.facts
    for name, ids in found.items():
        facts[name] = len(ids)
        if len(ids):
            facts["examples"][name] = ids[:EXAMPLES].to_pylist()
            findings.fail(
                f"ids_{name}",
                f"{len(ids)} {name} of {len(expected)} ids, such as {facts['examples'][name]}",
            )
    facts["ids_match"] = not facts["missing"] and not facts["foreign"]
    # The first of each id that is expected: one that is missing or doubled isn't out of order too.
    kept = distinct.filter(pc.is_in(distinct, value_set=expected))
    places = pc.index_in(kept, value_set=expected).to_numpy(zero_copy_only=False)
    facts["order_match"] = bool(np.all(np.diff(places.astype(np.int64)) >= 0))
    if not facts["order_match"]:
        row = int(np.argmax(np.diff(places.astype(np.int64)) < 0)) + 1
        findings.fail("order", f"ids aren't in the order of passage, first at {kept[row]}")


def no_facts(expected: int) -> dict[str, Any]:
    """Return the facts on ids of a file whose columns can't be read."""
    unknown = ("observed_ids", "order_match", "duplicates", "missing", "foreign")
    known = {"expected_ids": expected, "ids_match": False, "examples": {}}
    return {**known, **dict.fromkeys(unknown)}


@dataclass
class Rows:
    """What a walk over the rows of a prediction file found."""

    number: int = 0
    ids_equal: bool = True
    """Are the ids the expected ones, in their order?"""
    faults: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """Of each failed check: how many rows fail it, and a few of them."""

    def add(self, check: str, count: int, shown: list[str]) -> None:
        """Note rows that fail a check."""
        before, named = self.faults.get(check, (0, []))
        self.faults[check] = before + count, [*named, *shown][:EXAMPLES]

    def tell(self, head: Head, findings: Findings) -> None:
        """Note the failed checks among the findings."""
        meaning = {**_MEANING, "scores_argmax": _NOT_FOLLOWING[head.kind]}
        for check, (count, shown) in self.faults.items():
            findings.fail(check, f"{meaning[check]} in {count} rows: {', '.join(shown)}")


def read_rows(predictions: Path, expected: pa.Array, head: Head) -> Rows:
    """Check each row's id, label and scores, piece by piece."""
    rows = Rows()
    for piece in pieces(predictions, list(COLUMNS)):
        ids = piece.column("id").cast(expected.type)
        rows.ids_equal &= ids.equals(expected.slice(rows.number, len(ids)))
        written = piece.column("predicted")
        frame = row_facts(ids, *answers_of(written, head), scores_of(piece.column("scores")), head)
        for check, (count, examples) in failing_rows(frame).items():
            shown = [
                f"{ids[row]} (row {rows.number + row + 1}, predicted {written[row]})"
                for row in examples
            ]
            rows.add(check, count, shown)
        rows.number += len(ids)
    rows.ids_equal &= rows.number == len(expected)
    return rows


_MEANING = {
    "ids_absent": "the id is absent",
    "labels": "the predicted label is none of the model's",
    "scores_finite": "a score is not a finite number",
}
_NOT_FOLLOWING = {
    SINGLE_LABEL: "the predicted label hasn't the largest score",
    BINARY: "the predicted label isn't the one on its side of the threshold",
    MULTI_LABEL: "the predicted labels aren't those whose scores reach the threshold",
    REGRESSION: "the predicted number isn't the score",
}


def row_facts(
    ids: pa.Array, predicted: np.ndarray, known: np.ndarray, scores: np.ndarray, head: Head
) -> pd.DataFrame:
    """Return the frame that the schema PREDICTIONS describes, for one batch of rows.

    `follows_scores` is true where it can't be said (unknown label, score not finite), so that one
    fault fails one check. A number is absent only where its score isn't finite.
    """
    finite = np.isfinite(scores).all(axis=1)
    return pd.DataFrame(
        {
            "id": pd.arrays.ArrowExtensionArray(ids),
            "answer_known": known,
            "scores_finite": finite,
            "follows_scores": ~(finite & known) | head.follows(predicted, scores),
        }
    )


def failing_rows(frame: pd.DataFrame) -> dict[str, tuple[int, list[int]]]:
    """Return check -> (number of failing rows, first few of them) for a frame of row facts."""
    try:
        PREDICTIONS.validate(frame, lazy=True)
    except SchemaErrors as error:
        shown = error.failure_cases.groupby("check")["index"].agg(list)
        totals = {
            "ids_absent": frame["id"].isna(),
            "labels": ~frame["answer_known"],
            "scores_finite": ~frame["scores_finite"],
            "scores_argmax": ~frame["follows_scores"],
        }
        return {check: (int(totals[check].sum()), rows) for check, rows in shown.items()}
    return {}


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]
