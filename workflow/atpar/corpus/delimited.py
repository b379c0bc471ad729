"""CSV and TSV files as batches of text columns.

Arrow's parser is quick but lenient: characters after a closing quote are joined on, and a quote
that is never closed swallows the rows after it. So the quotes of each block are checked as it is
read, and where they aren't plainly well-formed, Python's strict parser takes over from the first
row that wasn't yet given: it reads what is unusual but clear, and names the row otherwise.
"""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from atpar.errors import AtparError

BLOCK_BYTES = 16 * 2**20
"""Read at once; also the longest cell. A row that is longer is read by the strict parser."""
ROWS_AT_ONCE = 20_000

OpenStream = Callable[[], io.BufferedIOBase]


class _Doubtful(Exception):
    """Quotes that only the strict parser can judge."""


def refuse_utf16(open_stream: OpenStream, path: str) -> None:
    """Raise AtparError for a file that starts as UTF-16, or UTF-32, with or without its mark."""
    with open_stream() as stream:
        start = stream.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start:
        raise AtparError(f"{path}: written as UTF-16 or UTF-32; save it as UTF-8")


def header(open_stream: OpenStream, path: str, delimiter: str, quote: str) -> list[str]:
    """Return the names of the columns. Raises AtparError for a file without a usable header."""
    refuse_utf16(open_stream, path)
    rows = _strict_rows(open_stream, path, delimiter, quote, BLOCK_BYTES)
    names = next(rows, None)
    if names is None:
        raise AtparError(f"{path}: empty; expected a first row that names the columns")
    for name in names:
        if names.count(name) > 1:
            raise AtparError(f"{path}: two columns are named {name!r}")
    return names


def read_delimited(
    open_stream: OpenStream,
    path: str,
    columns: list[str],
    delimiter: str,
    quote: str,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Yield the named columns of a delimited file, each cell exactly as it was written.

    No spelling stands for a missing value: `NA`, `null` and the empty cell are text. Quoted line
    breaks are part of a cell; a byte-order mark is skipped; blank lines are no rows; LF, CRLF and
    CR end rows. Values come as bytes, UTF-8 not yet verified. Raises AtparError.
    """
    given = 0
    try:
        for batch in _quick(open_stream, columns, delimiter, quote, block_bytes):
            yield batch
            given += batch.num_rows
    except _Doubtful:
        rows = _strict_rows(open_stream, path, delimiter, quote, block_bytes)
        yield from _strict(rows, path, columns, delimiter, quote, skip=given)


def _quick(
    open_stream: OpenStream,
    columns: list[str],
    delimiter: str,
    quote: str,
    block_bytes: int,
) -> Iterator[pa.RecordBatch]:
    with open_stream() as stream:
        checked = _CheckedQuotes(stream, delimiter, quote)
        try:
            yield from pa.csv.open_csv(
                pa.PythonFile(checked, mode="r"),
                read_options=pa.csv.ReadOptions(block_size=block_bytes, use_threads=False),
                parse_options=pa.csv.ParseOptions(
                    delimiter=delimiter, quote_char=quote, newlines_in_values=True
                ),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(columns, pa.large_binary()),
                    null_values=[],
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid:
            # The strict parser says which row it is and what is wrong with it.
            raise _Doubtful from None


class _CheckedQuotes(io.RawIOBase):
    """Gives a stream's bytes on, once their quotes are seen to be well-formed.

    The quotes of a well-formed file open and close in turn: an opening one follows a delimiter, a
    line end or the start (or, as the second of a doubled quote, a quote); a closing one precedes
    a delimiter, a line end or the end (or a quote).

    No block ends with a carriage return: Arrow takes a line feed at the start of the next one for
    the rest of a line end and drops it, inside quotes too.
    """

    def __init__(self, stream: io.BufferedIOBase, delimiter: str, quote: str) -> None:
        self._stream = stream
        self._quote = ord(quote)
        allowed = np.zeros(256, bool)
        allowed[[ord(delimiter), ord("\n"), ord("\r"), self._quote]] = True
        self._allowed = allowed
        self._inside = False  # between an opening and a closing quote
        self._last = ord("\n")  # the byte before this block
        self._last_closed = False  # it was a closing quote: what follows it is still unknown
        self._start = True
        self._held = b""  # a carriage return whose next byte isn't read yet

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size if size < 0 else max(1, size - len(self._held)))
        self._check(block)
        ready = self._held + block
        self._held = b"\r" if block.endswith(b"\r") else b""
        ready = ready.removesuffix(self._held)
        return ready or (self.read(size) if block else b"")

    def _check(self, block: bytes) -> None:
        if not block:
            if self._inside:
                raise _Doubtful
            return
        values = np.frombuffer(block, np.uint8)
        if self._start and block.startswith(b"\xef\xbb\xbf"):
            values = values[3:]
        self._start = False
        if len(values) == 0:
            return
        if self._last_closed and not self._allowed[values[0]]:
            raise _Doubtful
        places = np.flatnonzero(values == self._quote)
        opening, closing = places[self._inside :: 2], places[not self._inside :: 2]
        before = np.where(opening > 0, values[opening - 1], self._last)
        after = values[closing[closing + 1 < len(values)] + 1]
        if not (self._allowed[before].all() and self._allowed[after].all()):
            raise _Doubtful
        self._inside ^= bool(len(places) % 2)
        self._last = int(values[-1])
        self._last_closed = self._last == self._quote and not self._inside


def _strict_rows(
    open_stream: OpenStream, path: str, delimiter: str, quote: str, limit: int
) -> Iterator[list[str]]:
    """Yield the rows, header first, as the strict parser reads them; bad bytes as surrogates.

    `limit` is the largest length of a cell.
    """
    csv.field_size_limit(limit)
    number = 0
    with open_stream() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(text, delimiter=delimiter, quotechar=quote, strict=True)
        try:
            for row in rows:
                if row:
                    yield row
                    number += 1
        except csv.Error as error:
            place = f"{path}, row {number} (line {rows.line_num})"
            if "field limit" in str(error):
                raise AtparError(
                    f"{place}: a cell is longer than {limit:,} bytes; is a quote never closed? "
                    "Shorten the text, or give the corpus as Parquet"
                ) from None
            raise AtparError(
                f"{place}: {error}; a cell that holds quotes, delimiters or line breaks stands in "
                f"{quote}, with quotes inside it doubled"
            ) from None


def _strict(
    rows: Iterator[list[str]],
    path: str,
    columns: list[str],
    delimiter: str,
    quote: str,
    skip: int,
) -> Iterator[pa.RecordBatch]:
    names = next(rows)
    places = [names.index(column) for column in columns]
    cells: list[list[bytes]] = []
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise AtparError(
                f"{path}, row {number}: {len(row)} cells under {len(names)} columns; a cell that "
                f"holds {delimiter!r} or line breaks stands in {quote}"
            )
        if number > skip:
            cells.append([row[place].encode("utf-8", "surrogateescape") for place in places])
        if len(cells) == ROWS_AT_ONCE:
            yield _batch(cells, columns)
            cells = []
    if cells:
        yield _batch(cells, columns)


def _batch(cells: list[list[bytes]], columns: list[str]) -> pa.RecordBatch:
    arrays: list[Any] = [pa.array(values, pa.large_binary()) for values in zip(*cells, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, columns)
