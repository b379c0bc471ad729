"""The column of reference answers: one label, several labels, or a number, as exact text.

Several labels are kept as a JSON array in the labels' own order by name, since the order of a set
says nothing; a number stays as it was written.
"""

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atpar.corpus.columns import TEXT, as_text
from atpar.errors import AtparError


def as_answers(
    column: pa.Array,
    columns: Mapping[str, Any],
    path: str,
    first_row: int,
    names: list[str] | None = None,
) -> pa.Array:
    """Return the label column as large_string, nulls kept.

    `columns` is the configuration's section, `first_row` the row number of the first value, `names`
    are class names as in `as_text`. Raises AtparError for what is no label, no list of labels, no
    number.
    """
    name, kind = columns["label"], columns.get("label_kind", "single")
    if kind == "number":
        return _numbers(column, name, path, first_row)
    if kind == "multiple":
        return _lists(column, columns, path, first_row, names)
    if _is_list(column.type):
        raise AtparError(
            f"{path}: column {name!r} holds lists; if an entry has several labels, set "
            "corpus.columns.label_kind: multiple"
        )
    return as_text(column, name, path, first_row, names)


def label_sets(texts: list[str | None]) -> list[list[str] | None]:
    """Return the labels of each answer that `as_answers` made of several labels."""
    return [None if text is None else json.loads(text) for text in texts]


def set_text(labels: list[str]) -> str:
    """Return the text that stands for a set of labels."""
    return json.dumps(sorted(labels), ensure_ascii=False)


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _numbers(column: pa.Array, name: str, path: str, first_row: int) -> pa.Array:
    """Return numbers as text: of a floating-point column the shortest that reads back the same."""
    floating = pa.types.is_floating(column.type)
    text = column.cast(TEXT) if floating else as_text(column, name, path, first_row)
    for row, value in enumerate(text.to_pylist(), start=first_row):
        if value is None or not _is_number(value):
            shown = "missing" if value is None else repr(value)
            raise AtparError(
                f"{path}, row {row}, column {name!r}: the answer is {shown}, expected a finite "
                "number such as 3.5 (corpus.columns.label_kind is `number`)"
            )
    return text


def _is_number(text: str) -> bool:
    try:
        # Python reads 1_000 as a number; no file means that.
        return "_" not in text and bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _lists(
    column: pa.Array,
    columns: Mapping[str, Any],
    path: str,
    first_row: int,
    names: list[str] | None,
) -> pa.Array:
    """Return several labels as JSON arrays, each label once, ordered by name."""
    name, separator = columns["label"], columns["label_separator"]
    if _is_list(column.type):
        values, read = _listed(column, name, path, first_row, names), list
    else:
        values = as_text(column, name, path, first_row).to_pylist()
        read = _array if separator is None else _parted(separator)
    made: dict[Any, str | None] = {}
    found = []
    for row, value in enumerate(values, start=first_row):
        if value not in made:
            made[value] = _one(value, read, f"{path}, row {row}, column {name!r}")
        found.append(made[value])
    return pa.array(found, TEXT)


def _listed(
    column: pa.Array, name: str, path: str, first_row: int, names: list[str] | None
) -> list[tuple[str | None, ...] | None]:
    """Return the labels of stored lists as exact text, as a column of single labels has them."""
    if pa.types.is_nested(column.type.value_type):
        raise AtparError(
            f"{path}, column {name!r}: lists of {column.type.value_type}; the labels of an entry "
            "are a list of texts"
        )
    lengths = pc.list_value_length(column).to_pylist()
    rows = np.repeat(
        np.arange(first_row, first_row + len(lengths)), [length or 0 for length in lengths]
    )
    labels = iter(as_text(pc.list_flatten(column), name, path, rows, names).to_pylist())
    return [None if length is None else tuple(islice(labels, length)) for length in lengths]


def _one(value: Any, read: Callable[[Any], list[str]], where: str) -> str | None:
    """Return one cell's set of labels as text."""
    if value is None:
        raise AtparError(f"{where}: no answer; an entry without labels is an empty list")
    try:
        labels = read(value)
    except ValueError:
        raise AtparError(
            f"{where}: {value!r} is no list of labels; write a JSON array of texts, or state "
            "corpus.columns.label_separator"
        ) from None
    shown = repr(list(value) if isinstance(value, tuple) else value)
    if isinstance(value, str) and read is not _array and _is_array(value):
        raise AtparError(
            f"{where}: {shown} is a JSON array, which no separator parts; leave out "
            "corpus.columns.label_separator"
        )
    if not all(isinstance(label, str) for label in labels):
        raise AtparError(
            f"{where}: {shown} holds something else than labels, which are texts or whole numbers"
        )
    if "" in labels:
        raise AtparError(f"{where}: {shown} holds an empty label; is a separator one too many?")
    if len(set(labels)) != len(labels):
        raise AtparError(f"{where}: {shown} names a label twice")
    return set_text(labels)


def _array(text: str) -> list[Any]:
    """Return a JSON array; whole numbers and truth values in it as text, as they are written."""
    try:
        labels = json.loads(text, parse_int=str)
    except RecursionError:
        raise ValueError(text) from None
    if not isinstance(labels, list):
        raise ValueError(text)
    return [str(one).lower() if isinstance(one, bool) else one for one in labels]


def _is_array(text: str) -> bool:
    """Tell whether a text is a JSON array of texts."""
    if not text.startswith("["):
        return False
    try:
        return all(isinstance(one, str) for one in _array(text))
    except ValueError:
        return False


def _parted(separator: str) -> Callable[[str], list[str]]:
    return lambda text: text.split(separator) if text else []


def answer_codes(texts: pa.Array, labels: list[str], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (answers, known): what the reference column says, and whether it can be read.

    `kind` is `single` (indices into `labels`, int32, -1 for unknown), `multiple` (a flag for each
    entry and label) or `number` (float64, NaN for unknown).
    """
    encoded = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode()
    values = [*encoded.dictionary.to_pylist(), None]
    places = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    if kind == "number":
        numbers = np.array([np.nan if one is None else _number(one) for one in values])
        return numbers[places], np.isfinite(numbers)[places]
    if kind == "single":
        codes = pc.index_in(pa.array(values, TEXT), value_set=pa.array(labels, TEXT))
        codes = codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return codes[places], codes[places] >= 0
    flags, known = _flags(values, labels)
    return flags[places], known[places]


def _number(text: str) -> float:
    return float(text) if _is_number(text) else np.nan


def _flags(values: list[str | None], labels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return a flag for each distinct answer and label, and whether all its labels are known."""
    place = {label: index for index, label in enumerate(labels)}
    flags = np.zeros((len(values), len(labels)), bool)
    known = np.zeros(len(values), bool)
    for row, text in enumerate(values):
        try:
            named = None if text is None else _array(text)
        except ValueError:
            named = None
        known[row] = named is not None and all(name in place for name in named)
        for name in named or []:
            if name in place:
                flags[row, place[name]] = True
    return flags, known
