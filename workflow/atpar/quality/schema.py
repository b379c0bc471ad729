"""Schema of a prediction file: what it must look like, column by column [P11]."""

from collections.abc import Callable

import pandera.pandas as pa
import pyarrow

EXAMPLES = 5
"""Rows that a failed check names."""

PREDICTED = {"single": "text", "multiple": "list of text", "number": "float"}
"""Type of the column `predicted` by what an answer is."""
SCORES = "fixed_size_list<float>"
COLUMNS = ("id", "predicted", "scores")
"""Columns of the file; scores are a fixed_size_list<float>, one for each label."""


def column_problems(schema: pyarrow.Schema, classes: int, answer: str = "single") -> list[str]:
    """Return what is wrong with the columns of a prediction file (nothing: an empty list)."""
    expected = dict(zip(COLUMNS, ("text", PREDICTED[answer], SCORES), strict=True))
    problems = [
        f"column {name!r} is missing; expected {kind}"
        for name, kind in expected.items()
        if name not in schema.names
    ]
    for name in ("id", "predicted"):
        if name in schema.names and not _is(schema.field(name).type, expected[name]):
            problems.append(
                f"column {name!r} is {schema.field(name).type}, expected {expected[name]}"
            )
    if "scores" in schema.names:
        kind = schema.field("scores").type
        if not pyarrow.types.is_fixed_size_list(kind) or kind.value_type != pyarrow.float32():
            problems.append(f"column 'scores' is {kind}, expected {SCORES}")
        elif kind.list_size != classes:
            problems.append(
                f"column 'scores' holds {kind.list_size} values a row, but the model has "
                f"{classes} classes"
            )
    return problems


def _is(kind: pyarrow.DataType, expected: str) -> bool:
    """Return whether a type is the one that is named so in PREDICTED."""
    if expected == "float":
        return kind == pyarrow.float32()
    if expected == "list of text":
        return pyarrow.types.is_list(kind) and _is(kind.value_type, "text")
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)


def _each(test: Callable, name: str) -> pa.Check:
    """Return a check of each value; absent values are checked too, a few failures are kept."""
    return pa.Check(test, name=name, ignore_na=False, n_failure_cases=EXAMPLES)


PREDICTIONS = pa.DataFrameSchema(
    {
        "id": pa.Column(
            nullable=True,
            checks=_each(lambda ids: ids.notna(), "ids_absent"),
            description="Identifier of the entry, byte for byte.",
        ),
        "answer_known": pa.Column(
            "bool",
            checks=_each(lambda known: known, "labels"),
            description="The predicted label, or each of them, is one of the model's; a number "
            "is there.",
        ),
        "scores_finite": pa.Column(
            "bool",
            checks=_each(lambda finite: finite, "scores_finite"),
            description="Every class has a score that is a number.",
        ),
        "follows_scores": pa.Column(
            "bool",
            checks=_each(lambda follows: follows, "scores_argmax"),
            description="The prediction is the one that the head makes of the scores: no other "
            "class has a larger one; just these labels reach the threshold; it is the score.",
        ),
    },
    name="predictions",
    strict=True,
)
"""Facts of each row, from the file's columns; a check's name is the name of the failed check."""
