"""Reading the evaluation corpus as a pass does: ids and texts, in order, a window at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np


def count_entries(table: Path) -> int:
    """Return the number of rows of a corpus or of predictions."""
    import pyarrow.parquet as pq

    return pq.read_metadata(table).num_rows


Window = tuple[np.ndarray, list[str]]
"""Places of some entries in the corpus, and their texts."""


def windows(corpus: Path, size: int | None) -> Iterator[Window]:
    """Yield the places and texts of one window of entries after the other.

    `size` is the largest number of entries in a window; None: all of them at once.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(corpus) as file:
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

    if entries == 0:
        return []
    texts = pq.read_table(corpus, columns=["text"]).column(0)
    lengths = pc.binary_length(texts).to_numpy()
    by_length = np.argsort(-lengths, kind="stable")
    picked = np.unique(np.linspace(0, len(by_length) - 1, min(entries, len(by_length))).round())
    return texts.take(by_length[picked.astype(np.int64)]).to_pylist()
