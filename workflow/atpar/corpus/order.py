"""Tables put in order of a column of places, whatever their size: sorted piece by piece."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa

from atpar.corpus.measure import BATCH_ROWS


def in_order(
    tables: Iterator[pa.Table], rows: int, pieces: int, folder: Path
) -> Iterator[pa.Table]:
    """Yield the rows of `tables` by their column `order`, which holds each of 0 .. rows-1 once.

    With several pieces the rows are first dealt out to temporary files in `folder`, each for a
    range of places; only one piece at a time is held in memory.
    """
    if pieces == 1:
        yield from _sorted(pa.concat_tables(tables))
        return
    size = -(-rows // pieces)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".order-") as dealt:
        for path in _deal(tables, Path(dealt), size):
            with pa.OSFile(str(path)) as stream:
                yield from _sorted(pa.ipc.open_stream(stream).read_all())
            path.unlink()


def _deal(tables: Iterator[pa.Table], folder: Path, size: int) -> list[Path]:
    """Write each row to the file of its range of `size` places; return the files in order."""
    writers: dict[int, pa.ipc.RecordBatchStreamWriter] = {}
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with ExitStack() as stack:
        for table in tables:
            piece_of = table["order"].to_numpy() // size
            for piece in np.unique(piece_of).tolist():
                if piece not in writers:
                    writer = pa.ipc.new_stream(
                        str(_path(folder, piece)), table.schema, options=options
                    )
                    writers[piece] = stack.enter_context(writer)
                writers[piece].write_table(table.take(np.flatnonzero(piece_of == piece)))
    return [_path(folder, piece) for piece in sorted(writers)]


def _path(folder: Path, piece: int) -> Path:
    return folder / f"{piece}.arrows"


def _sorted(table: pa.Table) -> Iterator[pa.Table]:
    by_order = np.argsort(table["order"].to_numpy(), kind="stable")
    for start in range(0, len(by_order), BATCH_ROWS):
        yield table.take(by_order[start : start + BATCH_ROWS])
