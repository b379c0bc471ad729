"""Digests of rows: equal for equal rows in equal order, however they are batched or stored."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from atpar.canonical import digest
from atpar.corpus.columns import TEXT


class RowDigest:
    """SHA-256 over the rows of text columns.

    Each column is hashed as two streams: the lengths of its values in UTF-8 bytes (little-endian
    int64, -1 for null) and the bytes themselves; together they tell every row apart from every
    other. The digest is that of the canonical JSON of names, streams and row count.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._streams = {name: (hashlib.sha256(), hashlib.sha256()) for name in columns}
        self._rows = 0

    def update(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add the rows of a batch that has the columns."""
        for name, (lengths, content) in self._streams.items():
            column = batch.column(name)
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            for chunk in chunks:
                _hash_values(chunk.cast(TEXT), lengths, content)
        self._rows += batch.num_rows

    def hexdigest(self) -> str:
        """Return the digest of the rows so far."""
        streams = {
            name: [stream.hexdigest() for stream in pair] for name, pair in self._streams.items()
        }
        return digest({"streams": streams, "rows": self._rows})


def _hash_values(column: pa.Array, lengths: "hashlib._Hash", content: "hashlib._Hash") -> None:
    if len(column) == 0:
        return
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if missing is not None:
        column = column.fill_null("")  # the bytes under a null are anything
    _, offsets, values = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    sizes = np.diff(ends)
    if missing is not None:
        sizes[missing] = -1
    lengths.update(sizes.astype("<i8", copy=False))
    if values is not None:
        content.update(memoryview(values)[ends[0] : ends[-1]])
