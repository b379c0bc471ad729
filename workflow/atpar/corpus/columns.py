"""A column as exact text: what was written, or a named error; never a guess.

Integers are rendered exactly, truth values as `true` and `false`; text stays byte for byte.
Floating-point numbers, times and nested values have no single spelling and are refused.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from atpar.errors import AtparError

TEXT = pa.large_string()


def as_text(
    column: pa.Array,
    name: str,
    path: str,
    rows: int | Sequence[int],
    names: list[str] | None = None,
) -> pa.Array:
    """Return a column as large_string, nulls kept.

    `rows` is the row number of its first value, or that of each, for messages; `names` are the
    class names of an integer column that stores indices (Hugging Face ClassLabel; -1 means no
    label). Raises AtparError for a kind of value that has no exact spelling, and for invalid UTF-8.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if names is not None and pa.types.is_integer(kind):
        return _class_names(column, names, name, path, rows)
    if pa.types.is_null(kind):
        return pa.nulls(len(column), TEXT)
    if _is_text(kind) or _is_bytes(kind):
        return _valid_utf8(column, name, path, rows)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(TEXT)
    raise AtparError(
        f"{path}: column {name!r} holds {kind}, which has no single spelling as text; write it as "
        f"text{_advice(kind)}"
    )


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view()


def _advice(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return " (whole numbers become floating-point ones when a value is missing on the way)"
    if pa.types.is_temporal(kind):
        return " (ISO 8601 with its zone)"
    return ""


def _row(rows: int | Sequence[int], place: int) -> int:
    return rows + place if isinstance(rows, int) else rows[place]


def _valid_utf8(column: pa.Array, name: str, path: str, rows: int | Sequence[int]) -> pa.Array:
    """Return text or bytes as large_string; name the first row that isn't UTF-8."""
    try:
        text = column.cast(pa.large_binary()).cast(TEXT)
    except pa.ArrowInvalid:
        for place, value in enumerate(column.cast(pa.large_binary()).to_pylist()):
            try:
                (value or b"").decode("utf-8")
            except UnicodeDecodeError as error:
                half = b"\xed\xa0" <= value[error.start : error.start + 2] <= b"\xed\xbf"
                raise AtparError(
                    f"{path}, row {_row(rows, place)}, column {name!r}: byte {error.start} is "
                    + (
                        "half of a surrogate pair, no valid Unicode; was the text cut in the "
                        "middle of a character?"
                        if half
                        else "no valid UTF-8; save the file as UTF-8"
                    )
                ) from None
        raise
    return text


def replaced_text(column: pa.Array) -> tuple[pa.Array, int]:
    """Return text or bytes as large_string with U+FFFD for what is no UTF-8, and how many rows."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values = column.cast(pa.large_binary()).to_pylist()
    text = [None if one is None else one.decode("utf-8", "replace") for one in values]
    changed = sum(
        one is not None and one.encode() != value for one, value in zip(text, values, strict=True)
    )
    return pa.array(text, TEXT), changed


def is_valid(column: pa.Array) -> bool:
    """Return whether a column of text or bytes is UTF-8; other kinds have no such question."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if not (_is_text(column.type) or _is_bytes(column.type)):
        return True
    try:
        column.cast(pa.large_binary()).cast(TEXT)
    except pa.ArrowInvalid:
        return False
    return True


def _class_names(
    column: pa.Array, names: list[str], name: str, path: str, rows: int | Sequence[int]
) -> pa.Array:
    """Return the class names that an integer column's indices stand for."""
    missing = pc.equal(column, -1)
    outside = pc.and_not(pc.or_(pc.less(column, 0), pc.greater_equal(column, len(names))), missing)
    if pc.any(outside).as_py():
        place = pc.index(outside, True).as_py()
        raise AtparError(
            f"{path}, row {_row(rows, place)}, column {name!r}: class index "
            f"{column[place].as_py()}, but {len(names)} class names are stored with the file"
        )
    column = pc.if_else(missing, pa.scalar(None, column.type), column)
    return pa.array(names, TEXT).take(column)
