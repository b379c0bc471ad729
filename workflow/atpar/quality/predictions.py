"""Read the predictions of a pass: ids, predicted labels, and the score of each class."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.errors import AtparError
from atpar.model.heads import Head

BATCH_ROWS = 1 << 17
"""Rows in one batch of scores: 10 MB for 20 classes, whatever the size of the corpus."""


def column(path: Path, name: str) -> pa.Array:
    """Return a text column of a Parquet file as one array of large_string."""
    chunked = pq.read_table(path, columns=[name]).column(name)
    return chunked.cast(pa.large_string()).combine_chunks()


def score_labels(path: Path) -> list[str] | None:
    """Return the labels of the columns of `scores`, in order; None where the file doesn't say."""
    metadata = pq.read_schema(path).metadata or {}
    if b"labels" not in metadata:
        return None
    return json.loads(metadata[b"labels"])


def coded(path: Path, name: str) -> pa.DictionaryArray:
    """Return a text column of few different values as one dictionary array.

    Values that repeat are decoded once each, not row by row.
    """
    chunked = pq.read_table(path, columns=[name], read_dictionary=[name]).column(name)
    return chunked.unify_dictionaries().combine_chunks()


def pieces(path: Path, columns: list[str], rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Give these columns piece by piece, in file order; the next piece is read meanwhile.

    Without pyarrow's `pre_buffer`, which keeps what it has read until the file is closed.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file, ThreadPoolExecutor(1) as reader:
        batches = file.iter_batches(batch_size=rows, columns=columns, use_threads=False)
        following = reader.submit(next, batches, None)
        while (piece := following.result()) is not None:
            following = reader.submit(next, batches, None)
            yield piece


def ids_at(path: Path, rows: np.ndarray) -> list[str]:
    """Return the ids of these rows (ascending), reading no further than the last of them."""
    found: list[str] = []
    start = 0
    for piece in pieces(path, ["id"]) if len(rows) else ():
        places = rows[(rows >= start) & (rows < start + len(piece))] - start
        found += piece.column("id").take(pa.array(places)).to_pylist()
        start += len(piece)
        if start > rows[-1]:
            break
    return found


def label_codes(values: pa.Array, labels: list[str]) -> np.ndarray:
    """Return the index of each text in `labels` (int32), -1 where it is none of them."""
    codes = pc.index_in(values, value_set=pa.array(labels, values.type))
    return codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)


def answers_of(column: pa.Array, head: Head) -> tuple[np.ndarray, np.ndarray]:
    """Return (predicted, known): the answer of each row, and whether it is one of the model's.

    `column` is the column `predicted`. One label: its index (int32, -1: unknown); several: a flag
    for each label; a number: float32, NaN where it is absent.
    """
    if head.answer == "single":
        codes = label_codes(column, list(head.labels))
        return codes, codes >= 0
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if head.answer == "number":
        return column.fill_null(np.nan).to_numpy(zero_copy_only=False), ~absent
    known = ~absent
    codes = label_codes(column.flatten(), list(head.labels))
    rows = np.repeat(np.arange(len(column)), pc.list_value_length(column).fill_null(0).to_numpy())
    known[rows[codes < 0]] = False
    flags = np.zeros((len(column), len(head.labels)), bool)
    flags[rows[codes >= 0], codes[codes >= 0]] = True
    return flags, known


def predicted_answers(path: Path, head: Head) -> np.ndarray:
    """Return what `answers_of` makes of every row's answer."""
    found = [answers_of(piece.column(0), head)[0] for piece in pieces(path, ["predicted"])]
    return np.concatenate(found or [answers_of(pa.array([], head.column_type()), head)[0]])


def scores_of(column: pa.FixedSizeListArray) -> np.ndarray:
    """Return a column `scores` as (rows, classes) float32, without a copy."""
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)


def score_batches(path: Path, rows: int = BATCH_ROWS) -> Iterator[np.ndarray]:
    """Give the scores as (rows, classes) float32 arrays, in file order."""
    for piece in pieces(path, ["scores"], rows):
        yield scores_of(piece.column(0))


def score_pairs(first: Path, second: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give the scores of two files of equal length side by side, in equally long pieces."""
    left, right = score_batches(first), score_batches(second)
    one = other = np.empty((0, 0), np.float32)
    while True:
        if not len(one):
            one = next(left, None)
        if not len(other):
            other = next(right, None)
        if one is None or other is None:
            break
        size = min(len(one), len(other))
        yield one[:size], other[:size]
        one, other = one[size:], other[size:]
    if one is not None or other is not None:
        raise AtparError(f"{first} and {second} hold different numbers of rows")
