"""Schema of a prediction file: what it must look like, column by column [P11]."""

from collections.abc import Callable

import pandera.pandas as pa
import pyarrow

EXAMPLES = 5
"""Rows that a failed check names."""

COLUMNS = {"id": "string", "predicted": "string", "scores": "fixed_size_list<float>"}
"""Columns of the file and their types."""


def column_problems(schema: pyarrow.Schema, classes: int) -> list[str]:
    """Return what is wrong with the columns of a prediction file (nothing: an empty list)."""
    problems = [
        f"column {name!r} is missing; expected {kind}"
        for name, kind in COLUMNS.items()
        if name not in schema.names
    ]
    for name in ("id", "predicted"):
        if name in schema.names and not _is_text(schema.field(name).type):
            problems.append(f"column {name!r} is {schema.field(name).type}, expected text")
    if "scores" in schema.names:
        kind = schema.field("scores").type
        if not pyarrow.types.is_fixed_size_list(kind) or kind.value_type != pyarrow.float32():
            problems.append(f"column 'scores' is {kind}, expected {COLUMNS['scores']}")
        elif kind.list_size != classes:
            problems.append(
                f"column 'scores' holds {kind.list_size} values a row, but the model has "
                f"{classes} classes"
            )
    return problems


def _is_text(kind: pyarrow.DataType) -> bool:
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
        "predicted_code": pa.Column(
            "int32",
            checks=_each(lambda codes: codes >= 0, "labels"),
            description="Index of the predicted label among the model's labels; -1: none of them.",
        ),
        "scores_finite": pa.Column(
            "bool",
            checks=_each(lambda finite: finite, "scores_finite"),
            description="Every class has a score that is a number.",
        ),
        "label_has_top_score": pa.Column(
            "bool",
            checks=_each(lambda top: top, "scores_argmax"),
            description="No other class has a larger score than the predicted one.",
        ),
    },
    name="predictions",
    strict=True,
)
"""Facts of each row, from the file's columns; a check's name is the name of the failed check."""
