"""Read corpus files of every known kind as one stream of exact text columns."""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.corpus.answers import as_answers
from atpar.corpus.columns import TEXT, as_text, is_valid, replaced_text
from atpar.corpus.delimited import header, read_delimited
from atpar.corpus.lines import keys_in, read_lines
from atpar.corpus.sources import SourceFile
from atpar.errors import AtparError, did_you_mean

BATCH_ROWS = 50_000
AS_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
LISTS = ("Sequence", "List", "LargeList")
"""What Hugging Face calls lists of one kind of value, by version and size."""
SPLITS = ("evaluation", "tuning")


class Rows(NamedTuple):
    """Some rows of one file."""

    path: str
    first_row: int
    """Number of the first row, from 1; a header isn't counted."""
    batch: pa.RecordBatch
    """Columns id, text, label, split (where there are such) and subgroups, large_string each."""
    mended: Mapping[str, int] = {}
    """Rows whose text was absent, or no UTF-8, and taken as the policy says."""


def roles(columns: Mapping[str, Any]) -> dict[str, str]:
    """Return name in the product -> column in the files, from the configuration's `columns`."""
    named = {role: columns[role] for role in ("id", "text", "label", "split")}
    found = {role: column for role, column in named.items() if column is not None}
    return {**found, **{column: column for column in columns["subgroups"]}}


def read_rows(
    source: SourceFile,
    columns: Mapping[str, Any],
    dialect: Mapping[str, str],
    policy: Mapping[str, str],
) -> Iterator[Rows]:
    """Yield the rows of one file, checked: ids, texts, labels and splits are there and valid.

    `columns`, `dialect` and `policy` are the configuration's. Raises AtparError with file, row, id
    and column.
    """
    first_row, wanted = 1, roles(columns)
    with ExitStack() as stack:
        try:
            for batch, mended in _batches(source, columns, dialect, policy, stack):
                rows = Rows(source.path, first_row, batch, mended)
                _check_present(rows, wanted)
                yield rows
                first_row += batch.num_rows
        except FileNotFoundError:
            raise AtparError(
                f"{source.path}: no such file; corpus.files names it, relative to the working "
                "directory"
            ) from None
        # The names of a damaged file's columns may be no UTF-8 any more.
        except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
            raise AtparError(f"{source.path}: can't be read as {source.format} ({error})") from None


def _batches(
    source: SourceFile,
    columns: Mapping[str, Any],
    dialect: Mapping[str, str],
    policy: Mapping[str, str],
    stack: ExitStack,
) -> Iterator[tuple[pa.RecordBatch, dict[str, int]]]:
    wanted = roles(columns)
    stored, batches, names = _open(source, columns, dialect, stack)
    _check_columns(source, [*stored, *source.partition], wanted)
    inside = [name for name in dict.fromkeys(wanted.values()) if name not in source.partition]
    first_row = 1
    for raw in batches(inside):
        arrays, mended = [], {}
        for role, column in wanted.items():
            if column in source.partition:
                values = pa.repeat(pa.scalar(source.partition[column], TEXT), raw.num_rows)
            else:
                values = raw.column(raw.schema.get_field_index(column))
            if role == "text":
                values, mended = _mended(values, policy)
            place = (source.path, first_row, names.get(column))
            if role == "label":
                arrays.append(as_answers(values, columns, *place))
            else:
                arrays.append(as_text(values, column, *place))
        yield pa.RecordBatch.from_arrays(arrays, list(wanted)), mended
        first_row += raw.num_rows


def _mended(values: pa.Array, policy: Mapping[str, str]) -> tuple[pa.Array, dict[str, int]]:
    """Return texts as the policy takes absent and invalid ones, and how many there were of each."""
    mended = {}
    if policy.get("invalid_unicode") == "replace" and not is_valid(values):
        values, mended["invalid_unicode"] = replaced_text(values)
    if policy.get("missing_text") == "empty" and values.null_count:
        mended["missing_text"] = values.null_count
        values = pc.fill_null(_plain(values), "")
    return values, mended


def _plain(values: pa.Array) -> pa.Array:
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_null(values.type):
        return values.cast(TEXT)
    # Arrow fills no views; as bytes, since nothing has looked yet whether they are UTF-8.
    views = (pa.string_view(), pa.binary_view())
    return values.cast(pa.large_binary()) if values.type in views else values


def _open(
    source: SourceFile, columns: Mapping[str, Any], dialect: Mapping[str, str], stack: ExitStack
) -> tuple:
    """Return (names of the columns, function that yields batches of some, class names)."""
    path = source.path
    if source.format == "parquet":
        file = stack.enter_context(pq.ParquetFile(path, pre_buffer=False))
        schema = file.schema_arrow
        read = partial(file.iter_batches, BATCH_ROWS)
        return schema.names, lambda some: read(columns=some), class_names(schema.metadata)
    if source.format == "arrow":
        reader = stack.enter_context(_open_arrow(path, stack))
        schema = reader.schema
        return schema.names, partial(_arrow_batches, reader), class_names(schema.metadata)
    stream = partial(_open_stream, source)
    if source.format == "jsonl":
        structured = columns.get("label_kind", "single") != "single"
        answers = columns["label"] if structured else None
        keys = keys_in(stream, path, list(roles(columns).values()))
        return keys, partial(read_lines, stream, path, answers=answers), {}
    delimiter = "\t" if source.format == "tsv" else dialect["delimiter"]
    quote = dialect["quote"]
    read = partial(read_delimited, stream, path, delimiter=delimiter, quote=quote)
    return header(stream, path, delimiter, quote), read, {}


def _open_stream(source: SourceFile) -> io.BufferedIOBase:
    """Open a file for reading, decompressed where its name says so."""
    raw = pa.OSFile(source.path)
    if not source.compressed:
        return io.BufferedReader(_Readable(raw))
    kind = "gzip" if source.path.lower().endswith(".gz") else "zstd"
    return io.BufferedReader(_Readable(pa.CompressedInputStream(raw, kind)), 2**20)


class _Readable(io.RawIOBase):
    """An Arrow stream as Python's own kind of raw stream."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _open_arrow(path: str, stack: ExitStack) -> Any:
    """Open an Arrow file or stream, memory-mapped; `save_to_disk` writes streams."""
    mapped = stack.enter_context(pa.memory_map(path))
    start = mapped.read(6)
    mapped.seek(0)
    if start[:4] == b"FEA1":
        raise AtparError(f"{path}: Feather version 1; write it again with a current Arrow library")
    return pa.ipc.open_file(mapped) if start == b"ARROW1" else pa.ipc.open_stream(mapped)


def _arrow_batches(reader: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        batches = iter(reader)
    for batch in batches:
        chosen = batch.select(columns)
        for column in chosen.columns:
            _check_offsets(column)
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)


def _check_offsets(column: pa.Array) -> None:
    """Raise ArrowInvalid where a damaged file's offsets or indices point outside its values.

    Arrow trusts them and would read foreign memory. Text is looked at as bytes here: whether it is
    UTF-8 is checked later, with the row named.
    """
    if isinstance(column, pa.DictionaryArray):
        column.indices.validate(full=True)
        pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(column.dictionary)), safe=True)
        _check_offsets(column.dictionary)
        return
    as_bytes = AS_BYTES.get(column.type)
    column.validate()
    (column.view(as_bytes) if as_bytes else column).validate(full=True)


def class_names(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Return column -> class names that a Hugging Face schema stores for it.

    Of a column of class indices (ClassLabel), or of lists of them.
    """
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        classes = {name: _class_label(feature) for name, feature in features.items()}
        return {
            name: [str(one) for one in feature["names"]]
            for name, feature in classes.items()
            if feature is not None
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _class_label(feature: Any) -> dict[str, Any] | None:
    """Return the ClassLabel that a feature is, or that its lists hold."""
    if isinstance(feature, list) and len(feature) == 1:  # as older versions write a list
        feature = feature[0]
    elif isinstance(feature, dict) and feature.get("_type") in LISTS:
        feature = feature["feature"]
    found = isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    return feature if found else None


def _check_columns(source: SourceFile, stored: list[str], wanted: Mapping[str, str]) -> None:
    for role, column in wanted.items():
        if stored.count(column) == 0:
            place = f"corpus.columns.{role}" if role != column else "corpus.columns"
            raise AtparError(
                f"{source.path}: no column {column!r} ({place}); {did_you_mean(column, stored)}"
            )
        if stored.count(column) > 1:
            raise AtparError(f"{source.path}: two columns are named {column!r}")


def _check_present(rows: Rows, wanted: Mapping[str, str]) -> None:
    """Refuse rows without id, text or label, and splits that aren't known."""
    batch = rows.batch
    for role in ("id", "label"):
        if role in wanted:
            column = batch.column(role)
            absent = pc.or_kleene(pc.is_null(column), pc.equal(column, ""))
            _refuse_first(rows, wanted, role, absent, f"no {role}; every row needs one")
    advice = "the text is missing (null); an empty text is written as an empty string"
    _refuse_first(rows, wanted, "text", pc.is_null(batch.column("text")), advice)
    if "split" in wanted:
        known = pc.is_in(batch.column("split"), pa.array(SPLITS, TEXT))
        if not pc.all(known).as_py():
            value = batch.column("split")[pc.index(known, False).as_py()].as_py()
            text = f"split is {value!r}, expected one of {', '.join(SPLITS)}"
            _refuse_first(rows, wanted, "split", pc.invert(known), text)


def _refuse_first(
    rows: Rows, wanted: Mapping[str, str], role: str, fault: pa.Array, text: str
) -> None:
    place = pc.index(fault, True).as_py()
    if place >= 0:
        entry = rows.batch.column("id")[place].as_py()
        known = f", id {entry!r}" if entry and role != "id" else ""
        raise AtparError(
            f"{rows.path}, row {rows.first_row + place}{known}, column {wanted[role]!r}: {text}"
        )
