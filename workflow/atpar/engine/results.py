"""Scores of a pass: kept in files that outlive a kill, then written as the predictions table.

The worker maps two files of the attempt's folder into memory: `scores.f32` (entries x classes)
and `done.u1` (a flag for each entry). Writing there costs no more than writing to memory, and what
was written before a SIGKILL is still in the kernel's page cache afterwards (not so after a power
cut, see `salvage`). Their blocks are
allocated beforehand: a disk that is full says so as an error instead of a bus error.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from atpar.canonical import whole_file
from atpar.model.heads import Head

SCORES, DONE = "scores.f32", "done.u1"
CHUNK = 16384
"""Rows written at a time, so that the host's memory stays flat."""


class Scores:
    """The scores of `entries` x `classes`, in corpus order, and which entries have theirs."""

    def __init__(self, folder: Path, entries: int, classes: int, create: bool = True) -> None:
        self.folder = folder
        mode = "r+"
        if create:
            _allocate(folder / SCORES, entries * classes * 4)
            _allocate(folder / DONE, entries)
        self.values = _mapped(folder / SCORES, np.float32, mode, (entries, classes))
        self.done = _mapped(folder / DONE, np.uint8, mode, (entries,))

    def put(self, rows: np.ndarray, scores: np.ndarray) -> None:
        """Keep the scores (float32, len(rows) x classes) of the entries at `rows`."""
        self.values[rows] = scores
        self.done[rows] = 1

    @staticmethod
    def are_made(folder: Path) -> bool:
        """Tell whether both files are there, whole."""
        return (folder / SCORES).exists() and (folder / DONE).exists()

    @property
    def completed(self) -> int:
        """Number of entries that have their scores."""
        return int(np.count_nonzero(self.done))

    def remove(self) -> None:
        """Delete the two files, once the predictions table is on disk."""
        for name in (SCORES, DONE):
            (self.folder / name).unlink(missing_ok=True)


def _allocate(path: Path, size: int) -> None:
    """Make a file of zeros; it gets its name once its blocks are there."""
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        if size:
            os.posix_fallocate(stream.fileno(), 0, size)
    part.replace(path)


def _mapped(path: Path, dtype: type, mode: str, shape: tuple[int, ...]) -> np.ndarray:
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, mode, shape=shape)


def write_predictions(path: Path, corpus: Path, head: Head, scores: Scores | None) -> int:
    """Write the predictions table whole and return the number of entries in it.

    Columns: id, predicted (the label, list of labels or number that the head predicts from the
    scores; null where one isn't finite), scores (float32, one for each label, in the order that
    the schema's metadata holds).
    Entries without scores are left out; with `scores` None the table has no rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("id", pa.string()),
            ("predicted", head.column_type()),
            ("scores", pa.list_(pa.float32(), len(head.labels))),
        ],
        metadata={"labels": json.dumps(list(head.labels), ensure_ascii=False)},
    )
    written = 0
    with whole_file(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        for start, ids in _ids(corpus) if scores is not None else ():
            kept = np.flatnonzero(scores.done[start : start + len(ids)])
            values = np.asarray(scores.values[start : start + len(ids)][kept])
            flat = pa.array(values.reshape(-1), pa.float32())
            columns = [
                ids.take(pa.array(kept)).cast(pa.string()),
                head.column(values),
                pa.FixedSizeListArray.from_arrays(flat, type=schema.field("scores").type),
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            written += len(kept)
    return written


def salvage_predictions(folder: Path, path: Path, corpus: Path, head: Head) -> int:
    """Write what a killed worker left as the predictions table; return its number of entries.

    Without anything left the table has no rows.
    """
    scores = None
    done, values = folder / DONE, folder / SCORES
    if done.exists() and values.exists() and head.labels:
        entries = done.stat().st_size
        if values.stat().st_size == entries * len(head.labels) * 4:
            scores = Scores(folder, entries, len(head.labels), create=False)
    written = write_predictions(path, corpus, head, scores)
    if scores is not None:
        scores.remove()
    return written


def _ids(corpus: Path) -> Iterator[tuple[int, "pa.Array"]]:  # noqa: F821
    import pyarrow.parquet as pq

    start = 0
    with pq.ParquetFile(corpus, pre_buffer=False) as file:
        for batch in file.iter_batches(CHUNK, columns=["id"]):
            yield start, batch.column(0)
            start += batch.num_rows
