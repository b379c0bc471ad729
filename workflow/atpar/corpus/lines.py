"""JSONL files as batches of columns: one JSON object a line.

Arrow reads what it can read as text; from the first value that is none (a number for an id, say)
Python's parser takes over, which keeps numbers as they were written and names rows.
"""

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.json

from atpar.corpus.delimited import OpenStream, refuse_utf16
from atpar.errors import AtparError

BLOCK_BYTES = 16 * 2**20
"""Read at once; also the longest line."""
ROWS_AT_ONCE = 20_000


_SPELLED = re.compile(rb"\\u[dD][89a-fA-F]")
"""The spelling of half a character, or of a whole one by its two halves."""


_ESCAPED = frozenset('"\\/')
"""Characters that a key may spell in more than one way, escapes by number aside."""


class _Number(str):
    """A whole number as it was written."""


class _Fraction(str):
    """A number with a fraction or exponent as it was written."""


class _Object(dict):
    """A JSON object in which a key stands twice."""

    repeated: frozenset[str] = frozenset()


def keys_in(open_stream: OpenStream, path: str, wanted: list[str]) -> list[str]:
    """Return the objects' keys, read until each of `wanted` was there: any row may leave one out.

    Raises AtparError for a file without objects.
    """
    refuse_utf16(open_stream, path)
    found: dict[str, None] = {}
    sought = {name: _spelling(name) for name in wanted}
    any_row = False

    def may_tell(line: bytes) -> bool:
        # The first row, and one that may hold a key that is sought: an escape could spell any.
        return not any_row or b"\\u" in line or any(one in line for one in sought.values())

    for _, row, _ in _rows(open_stream, path, may_tell):
        any_row = True
        found |= dict.fromkeys(row)
        for name in sought.keys() & found.keys():
            del sought[name]
        if not sought:
            break
    if not any_row:
        raise AtparError(f"{path}: no rows; expected one JSON object a line")
    return list(found)


def _spelling(key: str) -> bytes:
    """Return how a line spells a key, escapes by number aside; b"" where there are several ways."""
    if set(key) & _ESCAPED:
        return b""
    return json.dumps(key, ensure_ascii=False).encode("utf-8", "surrogatepass")


def read_lines(
    open_stream: OpenStream,
    path: str,
    columns: list[str],
    block_bytes: int = BLOCK_BYTES,
    answers: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the named columns; a missing key and a JSON null are null. Raises AtparError.

    In the column `answers` lists are kept as JSON, and fractional numbers as they were written.
    """
    given = 0
    schema = pa.schema([(column, pa.large_string()) for column in columns])
    try:
        with open_stream() as stream:
            batches = pa.json.open_json(
                pa.PythonFile(_WithoutMark(stream), mode="r"),
                read_options=pa.json.ReadOptions(block_size=block_bytes, use_threads=False),
                parse_options=pa.json.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior="ignore"
                ),
            )
            for batch in batches:
                yield batch.select(columns)
                given += batch.num_rows
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        yield from _exact(open_stream, path, columns, given, answers)


class _WithoutMark(io.RawIOBase):
    """A stream without its byte-order mark."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        start = stream.read(3)
        self._start = b"" if start == b"\xef\xbb\xbf" else start

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        start, self._start = self._start, b""
        return start + self._stream.read(size - len(start) if size >= 0 else size)


def _rows(
    open_stream: OpenStream, path: str, chosen: Callable[[bytes], bool] = lambda _: True
) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield (row number from 1, object, how its halves are encoded) of each chosen line.

    Blank lines are no rows.
    """
    number = 0
    with open_stream() as stream:
        for line in _lines(stream):
            if not line.strip():
                continue
            number += 1
            if not chosen(line):
                continue
            try:
                text, halves = _decoded(line)
                row = json.loads(text, **_READ)
            except (ValueError, RecursionError) as error:
                raise AtparError(f"{path}, row {number}: no JSON object ({error})") from None
            if not isinstance(row, dict):
                raise AtparError(
                    f"{path}, row {number}: expected one JSON object a line, found {_kind(row)}"
                )
            yield number, row, halves


def _decoded(line: bytes) -> tuple[str, str]:
    """Return a line as text, and how its halves of characters are written as bytes again.

    Halves that are spelled (`\\udcc3`) stay halves. Bytes that are no UTF-8 become halves until the
    cells are looked at, which shows the column that holds them.
    """
    try:
        return line.decode("utf-8"), "surrogatepass"
    except UnicodeDecodeError:
        if _SPELLED.search(line):
            raise ValueError("it is no UTF-8, and spells characters by halves besides") from None
        return line.decode("utf-8", "surrogateescape"), "surrogateescape"


def _lines(stream: io.BufferedIOBase) -> Iterator[bytes]:
    for number, line in enumerate(stream):
        yield line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    twice = _Object(found)
    twice.repeated = frozenset(key for key in found if keys.count(key) > 1)
    return twice


_READ = {
    "parse_int": _Number,
    "parse_float": _Fraction,
    "parse_constant": _refuse,
    "object_pairs_hook": _object,
}


def _exact(
    open_stream: OpenStream, path: str, columns: list[str], skip: int, answers: str | None
) -> Iterator[pa.RecordBatch]:
    cells: list[list[bytes | None]] = []
    for number, row, halves in _rows(open_stream, path):
        if number > skip:
            _refuse_repeated(row, columns, path, number)
            if isinstance(row.get(answers), list):
                row[answers] = json.dumps(_labels(row[answers]), ensure_ascii=False)
            elif isinstance(row.get(answers), _Fraction):
                row[answers] = str(row[answers])
            cells.append([_cell(row.get(name), halves, path, number, name) for name in columns])
        if len(cells) == ROWS_AT_ONCE:
            yield _batch(cells, columns)
            cells = []
    if cells:
        yield _batch(cells, columns)


def _refuse_repeated(row: dict[str, Any], columns: list[str], path: str, number: int) -> None:
    """Raise AtparError for a column that an object gives twice: neither value is the one meant."""
    for name in columns if isinstance(row, _Object) else ():
        if name in row.repeated:
            raise AtparError(f"{path}, row {number}: {name!r} is given twice; keep one")


def _labels(found: list[Any]) -> list[Any]:
    """Return a list with fractions as numbers again, which are no labels; integers stay text."""
    return [float(one) if isinstance(one, _Fraction) else one for one in found]


def _cell(value: Any, halves: str, path: str, row: int, column: str) -> bytes | None:
    """Return a value's exact spelling, UTF-8 or not: that is looked at later, as of every file."""
    if value is None:
        return None
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if not isinstance(value, str) or isinstance(value, _Fraction):
        raise AtparError(
            f"{path}, row {row}, column {column!r}: {_kind(value)}, which has no single spelling "
            "as text; write it in quotes"
        )
    return value.encode("utf-8", halves)


def _kind(value: Any) -> str:
    names = {list: "a list", dict: "an object", type(None): "null"}
    if isinstance(value, (_Number, _Fraction)):
        return "a number" if isinstance(value, _Number) else "a fractional number"
    return names.get(type(value), f"a {type(value).__name__}")


def _batch(cells: list[list[bytes | None]], columns: list[str]) -> pa.RecordBatch:
    arrays = [pa.array(values, pa.large_binary()) for values in zip(*cells, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, columns)
