"""The split's tables: all entries, and the evaluation corpus in its order of passage."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from atpar.canonical import whole_file
from atpar.corpus.columns import TEXT
from atpar.corpus.digests import RowDigest
from atpar.corpus.measure import BATCH_ROWS, Measured
from atpar.corpus.order import in_order

FIXED = ("id", "text", "label", "split")
REPETITIVE = ["label", "bucket", "split"]
PIECE_BYTES = 128 * 2**20
"""Texts put in order at once; sorting holds them twice."""


@dataclass(frozen=True)
class Assigned:
    """What the split decided, one element an entry, in source order."""

    buckets: Sequence[str]
    """Names of the buckets."""
    bucket_of: np.ndarray
    order: np.ndarray
    """Place in the order of passage; -1 outside the evaluation corpus."""
    split: np.ndarray
    """Index into SPLITS."""


SPLITS = ("evaluation", "tuning", "reserve")


@dataclass(frozen=True)
class Tables:
    """Paths of the tables that are written."""

    entries: Path
    evaluation: Path
    reference: Path
    tuning: Path
    """Ids and texts of the tuning split alone: nothing that tunes opens another table."""


def write_entries(
    source: Path, measured: Measured, assigned: Assigned, tables: Tables
) -> dict[str, str]:
    """Write the tables; return the digests of corpus, evaluation and reference.

    The source streams through. An evaluation corpus whose order of passage isn't the source's is
    put in order piece by piece.
    """
    drawn = assigned.order[assigned.order >= 0]
    rising = bool(np.all(np.diff(drawn) > 0))
    digests = {
        "corpus_digest": RowDigest(["id", "text", "label"]),
        "evaluation_digest": RowDigest(["id", "text"]),
        "reference_digest": RowDigest(["id", "label"]),
    }
    with ExitStack() as stack:
        write = {
            name: _writer(stack, getattr(tables, name))
            for name in ("evaluation", "reference", "entries", "tuning")
        }
        chosen = _stream(source, measured, assigned, write)
        if not rising:
            pieces = _pieces(source, drawn)
            chosen = in_order(chosen, len(drawn), pieces, tables.evaluation.parent)
        for batch in chosen:
            for one in digests.values():
                one.update(batch)
            write["evaluation"](batch.select(["id", "text"]))
            left_out = ["text", "order", "split"]
            kept = [name for name in batch.schema.names if name not in left_out]
            write["reference"](batch.select(kept))
    return {name: one.hexdigest() for name, one in digests.items()}


def _stream(source: Path, measured: Measured, assigned: Assigned, write) -> Iterator[pa.Table]:
    """Write all entries and the tuning ones; yield the evaluation corpus in source order."""
    start = 0
    with pq.ParquetFile(source, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            part = slice(start, start + batch.num_rows)
            table = _table(batch, part, measured, assigned)
            write["entries"](table)
            tuning = np.flatnonzero(assigned.split[part] == SPLITS.index("tuning"))
            write["tuning"](table.select(["id", "text"]).take(tuning))
            start = part.stop
            picked = np.flatnonzero(assigned.order[part] >= 0)
            if len(picked):
                yield table.take(picked)


def _table(batch: pa.RecordBatch, part: slice, measured: Measured, assigned: Assigned) -> pa.Table:
    labelled = "label" in batch.schema.names
    label = None
    if labelled and measured.label_kind == "number":
        label = batch.column("label").cast(TEXT)
    elif labelled:
        label = pa.array(measured.classes, TEXT).take(pa.array(measured.class_of[part]))
    order = assigned.order[part]
    columns = {
        "id": batch.column("id"),
        "text": batch.column("text"),
        "label": label if labelled else pa.nulls(batch.num_rows, TEXT),
        "order": pa.array(order, pa.int64(), mask=order < 0),
        "tokens": pa.array(measured.tokens[part], pa.int32()),
        "bucket": pa.array(assigned.buckets, TEXT).take(pa.array(assigned.bucket_of[part])),
        "split": pa.array(SPLITS, TEXT).take(pa.array(assigned.split[part])),
    }
    kept = [name for name in batch.schema.names if name not in FIXED]
    return pa.table({**columns, **{name: batch.column(name) for name in kept}})


def _pieces(source: Path, drawn: np.ndarray) -> int:
    """Return in how many pieces the drawn part of the source is put in order."""
    with pq.ParquetFile(source) as file:
        groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        share = len(drawn) / file.metadata.num_rows
    return max(1, round(size * share / PIECE_BYTES))


def _writer(stack: ExitStack, path: Path):
    """Return a function that appends tables to a file, which is renamed into place at the end."""
    temporary = stack.enter_context(whole_file(path))
    opened: list[pq.ParquetWriter] = []

    def write(table: pa.Table) -> None:
        if not opened:
            repeated = [name for name in table.schema.names if name in REPETITIVE]
            writer = pq.ParquetWriter(
                temporary, table.schema, compression="zstd", use_dictionary=repeated or False
            )
            opened.append(stack.enter_context(writer))
        opened[0].write_table(table)

    return write
