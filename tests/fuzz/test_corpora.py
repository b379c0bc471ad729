"""Corpus readers: what was written comes back, and damaged files end in one clean message."""

import csv
import gzip
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from atpar.config.corpus import Columns, Dialect, Policy
from atpar.corpus.answers import set_text
from atpar.corpus.read import read_rows
from atpar.corpus.sources import source_files
from atpar.errors import AtparError

EFFORT = settings.get_profile("fuzz")
NAMES = ("id", "text", "label")
MORE = (*NAMES, "part", "group")

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
        "'",
        "a\r\nb",
        "\r",
        "\t",
        "\x00",
        "e\u0301",
        ",",
        ";",
    ]
)
texts = st.text(characters, max_size=12) | awkward
names = texts.filter(bool)
rows = st.lists(st.tuples(names, texts, names), min_size=1, max_size=8)
full_rows = st.lists(
    st.tuples(
        names,
        st.none() | texts,
        names,
        st.sampled_from(["evaluation", "tuning"]),
        st.none() | texts,
    ),
    min_size=1,
    max_size=8,
)


def frame(table, header, kind=None):
    columns = zip(*table, strict=True)
    # An answer of several labels is a list, and a number a number, whatever the texts are kept as.
    arrays = [
        pa.array(values, kind if all(isinstance(one, str | None) for one in values) else None)
        for values in map(list, columns)
    ]
    return pa.table(arrays, list(header))


def parquet(path, table, header, draw, _dialect):
    kind = draw.choice([pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
    written = frame(table, header, kind)
    if draw.choice([True, False]) and kind in (pa.string(), pa.large_string()):
        columns = [one.dictionary_encode() if one.type == kind else one for one in written.columns]
        written = pa.table(columns, written.schema.names)
    pq.write_table(written, path, row_group_size=draw.choice([1, 3, 100]))


def arrow(path, table, header, draw, _dialect):
    written = frame(table, header, draw.choice([pa.string(), pa.large_string()]))
    opened = draw.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with opened(str(path), written.schema) as writer:
        writer.write_table(written, max_chunksize=draw.choice([1, 100]))


def delimited(path, table, header, draw, dialect):
    stream = io.StringIO(newline="")
    if ".tsv" in path.name:
        separator = "\t"
    else:
        separator = dialect["delimiter"] = draw.choice([",", ";", "|", "\t"])
    dialect["quote"] = draw.choice(['"', "'"])
    # As the standard asks: a cell with a quote, separator or line break stands in quotes.
    rules = {"delimiter": separator, "quotechar": dialect["quote"]}
    rules["quoting"] = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(stream, lineterminator="\r\n", **rules)
    writer.writerows([header, *table])
    mark = draw.choice([b"", b"\xef\xbb\xbf"])
    return mark + stream.getvalue().encode()


def lines(_path, table, header, draw, _dialect):
    ascii_only, end = draw.choice([True, False]), draw.choice(["\n", "\r\n"])
    objects = [dict(zip(header, row, strict=True)) for row in table]
    whole = draw.choice(objects)  # A key that no object has is no column.
    for one in objects:
        for name in [name for name, value in one.items() if value is None and one is not whole]:
            if draw.choice([True, False]):
                del one[name]
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
    "c.csv.zst": delimited,
    "c.tsv.gz": delimited,
    "c.jsonl": lines,
    "c.jsonl.zst": lines,
}
PLAIN = ("c.parquet", "c.arrow", "c.csv", "c.tsv", "c.jsonl")


def write(folder, name, table, seed, header=NAMES):
    """Write rows in one of the ways that the seed draws; return the path and the dialect."""
    path, dialect = folder / name, Dialect().model_dump()
    content = WRITERS[name](path, table, header, random.Random(seed), dialect)
    if content is not None:
        path.write_bytes(compressed(path, content))
    return path, dialect


def read(path, dialect=None, policy=None, **columns):
    """Return the rows that are read, and how many were taken as the policy says."""
    (source,) = source_files([str(path)])
    given = Columns(**columns).model_dump(), dialect or Dialect().model_dump()
    parts = list(read_rows(source, *given, Policy(**policy or {}).model_dump()))
    found = [tuple(row.values()) for part in parts for row in part.batch.to_pylist()]
    mended = {}
    for part in parts:
        for kind, count in part.mended.items():
            mended[kind] = mended.get(kind, 0) + count
    return found, mended


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", WRITERS)
@EFFORT
@given(table=rows, seed=st.integers(0, 99))
def test_what_was_written_comes_back(folder, name, table, seed):
    assert read(*write(folder, name, table, seed)) == (table, {})


@pytest.mark.parametrize("name", WRITERS)
@EFFORT
@given(table=full_rows, seed=st.integers(0, 99))
def test_splits_subgroups_and_absent_texts_come_back(folder, name, table, seed):
    path, dialect = write(folder, name, table, seed, MORE)
    absent = [number for number, row in enumerate(table, start=1) if row[1] is None]
    kept = {"split": "part", "subgroups": ["group"]}
    if ".csv" in name or ".tsv" in name:  # Nothing is absent there: an empty cell is an empty text.
        expected, absent = [(*row[:4], row[4] or "") for row in table], []
    else:
        expected = table
    policy = {"missing_text": "empty"}
    found, mended = read(path, dialect, policy, **kept)
    assert found == [(row[0], row[1] or "", *row[2:]) for row in expected]
    assert mended.get("missing_text", 0) == len(absent)
    if absent:
        with pytest.raises(AtparError, match=rf"row {absent[0]}, id .*the text is missing"):
            read(path, dialect, **kept)


def cell_in_quotes(value):
    return b'"' + value.replace(b'"', b'""') + b'"'


def json_bytes(value):
    """Return bytes as a JSON string that keeps what is no UTF-8 as it is."""
    escaped = (b"\\u%04x" % one if one < 32 or one in b'"\\' else bytes([one]) for one in value)
    return b'"' + b"".join(escaped) + b'"'


def write_bytes(path, values):
    """Write one text after another, each as bytes, under the ids 0, 1, ..."""
    ids = [b"%d" % number for number in range(len(values))]
    numbered = list(zip(ids, values, strict=True))
    if path.suffix == ".parquet":
        columns = [pa.array(some, pa.binary()) for some in (ids, values, [b"x"] * len(ids))]
        pq.write_table(pa.table(columns, list(NAMES)), path)
    elif path.suffix == ".jsonl":
        row = b'{"id": "%s", "text": %s, "label": "x"}\n'
        path.write_bytes(b"".join(row % (n, json_bytes(one)) for n, one in numbered))
    else:
        comma = b"\t" if path.suffix == ".tsv" else b","
        written = [comma.join([n, cell_in_quotes(one), b"x"]) for n, one in numbered]
        path.write_bytes(b"\n".join([comma.join([b"id", b"text", b"label"]), *written]) + b"\n")


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "c.arrow"])
@EFFORT
@given(values=st.lists(st.binary(max_size=6) | texts.map(str.encode), min_size=1, max_size=6))
def test_bytes_that_are_no_text_are_replaced_and_counted_or_refused(folder, name, values):
    path = folder / name
    write_bytes(path, values)
    found, mended = read(path, policy={"invalid_unicode": "replace"})
    assert [row[1] for row in found] == [one.decode("utf-8", "replace") for one in values]
    wrong = [one for one in values if one.decode("utf-8", "replace").encode() != one]
    assert mended.get("invalid_unicode", 0) == len(wrong)
    if wrong:
        place = f"row {values.index(wrong[0]) + 1}, column 'text'"
        with pytest.raises(AtparError, match=place):
            read(path)


@pytest.mark.parametrize("name", PLAIN)
@EFFORT
@given(
    sets=st.lists(st.lists(names, max_size=3, unique=True), min_size=1, max_size=6),
    seed=st.integers(0, 99),
    parted=st.booleans(),
)
def test_several_labels_come_back(folder, name, sets, seed, parted):
    columns = {"label_kind": "multiple"}
    answers = sets
    if name in ("c.csv", "c.tsv"):
        answers = [json.dumps(one) for one in sets]
        if parted and not any("+" in label for one in sets for label in one):
            columns["label_separator"] = "+"
            answers = ["+".join(one) for one in sets]
    table = [(f"{number}", "a text", answer) for number, answer in enumerate(answers)]
    if name in ("c.parquet", "c.arrow") and not any(sets):
        return  # Empty lists alone have no type of texts.
    found, _ = read(*write(folder, name, table, seed), **columns)
    assert [row[2] for row in found] == [set_text(one) for one in sets]


@pytest.mark.parametrize("name", PLAIN)
@EFFORT
@given(
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_numbers_come_back(folder, name, numbers, seed):
    table = [(f"{place}", "a text", number) for place, number in enumerate(numbers)]
    found, _ = read(*write(folder, name, table, seed), label_kind="number")
    assert [float(row[2]) for row in found] == numbers


keys = st.sampled_from(["id", "text", "label", "group", "more"])
objects = st.lists(
    st.tuples(
        keys,
        texts
        | st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.lists(texts, max_size=2),
    ),
    max_size=6,
)
plain_object = texts.map(lambda text: [("id", "a"), ("text", text), ("label", "x"), ("group", "g")])


@EFFORT
@given(
    made=st.lists(objects | plain_object, min_size=1, max_size=5),
    policy=st.sampled_from(["reject", "empty"]),
)
def test_absent_and_repeated_keys_are_read_or_refused(folder, made, policy):
    path = folder / "keys.jsonl"
    written = [
        "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}\n"
        for pairs in made
    ]
    path.write_text("".join(written), encoding="utf-8")
    try:
        found, _ = read(path, policy={"missing_text": policy}, subgroups=["group"])
    except AtparError as error:
        assert str(path) in str(error)
        return
    assert len(found) == len(made)
    for row, pairs in zip(found, made, strict=True):
        given_keys = [key for key, _ in pairs]
        for key, value in pairs:
            if isinstance(value, str) and given_keys.count(key) == 1 and key != "more":
                assert row[(*NAMES, "group").index(key)] == value


@pytest.mark.parametrize("name", WRITERS)
@EFFORT
@given(table=rows, seed=st.integers(0, 99), data=st.data())
def test_a_damaged_file_is_read_or_refused_with_its_name(folder, name, table, seed, data):
    path, dialect = write(folder, name, table, seed)
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
    policy = {"invalid_unicode": data.draw(st.sampled_from(["reject", "replace"]))}
    try:
        read(path, dialect, policy)
    except AtparError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.jsonl"])
@EFFORT
@given(content=st.lists(st.sampled_from([*b'ab",\t\r\n\x00\xff{}[]:1']), max_size=60).map(bytes))
def test_any_bytes_are_read_or_refused(folder, name, content):
    path = folder / name
    start = {"c.csv": b"id,text,label\n", "c.tsv": b"id\ttext\tlabel\n"}.get(name, b"")
    path.write_bytes(start + content)
    try:
        read(path)
    except AtparError as error:
        assert str(path) in str(error)
