"""Reading the evaluation corpus as a pass does: ids and texts, in order, a window at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np


def count_entries(table: Path) -> int:
    """Return the number of rows of a corpus or of predictions."""
    import pyarrow.parquet as pq

    return pq.read_metadata(table).num_rows


PIECE = 8192
"""Entries read at a time where only a few of their texts are kept."""
Window = tuple[np.ndarray, list[str]]
"""Places of some entries in the corpus, and their texts."""


def windows(corpus: Path, size: int | None) -> Iterator[Window]:
    """Yield the places and texts of one window of entries after the other.

    `size` is the largest number of entries in a window; None: all of them at once.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(corpus, pre_buffer=False) as file:
        size = size or max(1, file.metadata.num_rows)
        start = 0
        for batch in file.iter_batches(size, columns=["text"]):
            yield np.arange(start, start + batch.num_rows), batch.column(0).to_pylist()
            start += batch.num_rows


def share(everything: Iterable[Window], member: int, members: int) -> Iterator[Window]:
    """Yield what one of several processes computes: every so-many-th entry of each window.

    Entries are dealt out in turn, so that each share has the corpus' mix of lengths.
    """
    for rows, texts in everything:
        yield rows[member::members], texts[member::members]


def spread_over_lengths(corpus: Path, entries: int) -> list[str]:
    """Return `entries` texts spread evenly over the corpus' lengths in bytes, longest first.

    The shortest and the longest are among them. The warm-up rule [P13] is the same for all
    variants, so it goes by bytes, which don't depend on a variant's maximum length.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    # Read whatever is asked for, so that no pass is the first to take the corpus from the disk.
    with pq.ParquetFile(corpus, pre_buffer=False) as file:
        # Piece by piece: the lengths of a large corpus fit into memory, its texts may not.
        pieces = [
            # `to_numpy` would import pandas, 0.3 s of each pass.
            np.from_dlpack(pc.binary_length(piece.column(0)))
            for piece in file.iter_batches(PIECE, columns=["text"])
        ]
    if not pieces or entries == 0:
        return []
    by_length = np.argsort(-np.concatenate(pieces).astype(np.int64), kind="stable")
    picked = np.unique(np.linspace(0, len(by_length) - 1, min(entries, len(by_length))).round())
    return _texts_at(corpus, by_length[picked.astype(np.int64)])


def _texts_at(corpus: Path, rows: np.ndarray) -> list[str]:
    """Return the texts at these places in the corpus, in the order in which they are given."""
    found: dict[int, str] = {}
    wanted = np.sort(rows)
    for places, texts in windows(corpus, PIECE):
        first, last = np.searchsorted(wanted, [places[0], places[-1] + 1])
        found |= {int(row): texts[row - places[0]] for row in wanted[first:last]}
    return [found[int(row)] for row in rows]
