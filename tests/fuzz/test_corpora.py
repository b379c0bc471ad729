"""Corpus readers: what was written comes back, and damaged files end in one clean message."""

import csv
import gzip
import io
import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from atpar.config.corpus import Columns, Dialect
from atpar.corpus.read import read_rows
from atpar.corpus.sources import source_files
from atpar.errors import AtparError

COLUMNS = Columns(split=None).model_dump()
DIALECT = Dialect().model_dump()

EFFORT = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "20")), deadline=None)

characters = st.characters(exclude_categories=["Cs"])
awkward = st.sampled_from(
    [
        "NA",
        "null",
        "",
        " ",
        "007",
        "1e5",
        "\ufeff",
        '"',
        '""',
        "a\r\nb",
        "\r",
        "\t",
        "\x00",
        "e\u0301",
        ",",
    ]
)
texts = st.text(characters, max_size=12) | awkward
names = texts.filter(bool)
rows = st.lists(st.tuples(names, texts, names), min_size=1, max_size=8)


def frame(table, kind=None):
    columns = [pa.array(list(values), kind or pa.string()) for values in zip(*table, strict=True)]
    return pa.table(columns, ["id", "text", "label"])


def parquet(path, table, draw):
    kind = draw.choice([pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
    coded = draw.choice([True, False])
    written = frame(table, kind)
    if coded and kind in (pa.string(), pa.large_string()):
        columns = [column.dictionary_encode() for column in written.columns]
        written = pa.table(columns, written.schema.names)
    pq.write_table(written, path, row_group_size=draw.choice([1, 3, 100]))


def arrow(path, table, draw):
    written = frame(table, draw.choice([pa.string(), pa.large_string()]))
    opened = draw.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with opened(str(path), written.schema) as writer:
        writer.write_table(written, max_chunksize=draw.choice([1, 100]))


def delimited(path, table, draw):
    stream = io.StringIO(newline="")
    separator = "\t" if ".tsv" in path.name else ","
    # As the standard asks: a cell with a quote, separator or line break stands in quotes.
    rules = {"delimiter": separator, "quoting": draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])}
    writer = csv.writer(stream, lineterminator="\r\n", **rules)
    writer.writerows([("id", "text", "label"), *table])
    mark = draw.choice([b"", b"\xef\xbb\xbf"])
    return mark + stream.getvalue().encode()


def lines(_path, table, draw):
    ascii_only, end = draw.choice([True, False]), draw.choice(["\n", "\r\n"])
    objects = [dict(zip(("id", "text", "label"), row, strict=True)) for row in table]
    return "".join(json.dumps(one, ensure_ascii=ascii_only) + end for one in objects).encode()


def compressed(path, content):
    if path.suffix == ".gz":
        return gzip.compress(content)
    return zstandard.compress(content) if path.suffix == ".zst" else content


WRITERS = {
    "c.parquet": parquet,
    "c.arrow": arrow,
    "c.csv": delimited,
    "c.tsv": delimited,
    "c.csv.gz": delimited,
    "c.jsonl": lines,
    "c.jsonl.zst": lines,
}


def write(folder, name, table, seed):
    path = folder / name
    content = WRITERS[name](path, table, random.Random(seed))
    if content is not None:
        path.write_bytes(compressed(path, content))
    return path


def read(path):
    (source,) = source_files([str(path)])
    batches = [one.batch for one in read_rows(source, COLUMNS, DIALECT, {})]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", WRITERS)
@EFFORT
@given(table=rows, seed=st.integers(0, 99))
def test_what_was_written_comes_back(folder, name, table, seed):
    assert read(write(folder, name, table, seed)) == table


@pytest.mark.parametrize("name", WRITERS)
@EFFORT
@given(table=rows, seed=st.integers(0, 99), data=st.data())
def test_a_damaged_file_is_read_or_refused_with_its_name(folder, name, table, seed, data):
    path = write(folder, name, table, seed)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(0, len(content) - 1)))
        damage = data.draw(st.sampled_from(["flip", "cut", "insert"]))
        if damage == "flip" and content:
            content[place] ^= data.draw(st.integers(1, 255))
        elif damage == "cut":
            del content[place : place + data.draw(st.integers(1, 40))]
        else:
            content[place:place] = data.draw(st.binary(min_size=1, max_size=4))
    path.write_bytes(bytes(content))
    try:
        read(path)
    except AtparError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.jsonl"])
@EFFORT
@given(content=st.lists(st.sampled_from([*b'ab",\t\r\n\x00\xff{}[]:1']), max_size=60).map(bytes))
def test_any_bytes_are_read_or_refused(folder, name, content):
    path = folder / name
    start = (
        b"" if "jsonl" in name else {"c.csv": b"id,text,label\n"}.get(name, b"id\ttext\tlabel\n")
    )
    path.write_bytes(start + content)
    try:
        read(path)
    except AtparError as error:
        assert str(path) in str(error)
