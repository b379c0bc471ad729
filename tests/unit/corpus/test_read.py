"""Texts, ids and labels are the exact strings that were written, from every kind of file."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from atpar.corpus.delimited import read_delimited
from atpar.corpus.lines import read_lines
from atpar.corpus.sources import corpus_files
from atpar.errors import AtparError


def texts_of(rows):
    return [row["text"] for row in rows]


@pytest.mark.parametrize("word", ["NA", "null", "n/a", "None", "NaN", "True", "1.0", "007", " x "])
@pytest.mark.parametrize("column", ["id", "text", "label"])
@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.jsonl"])
def test_words_that_look_like_something_else_stay_text(read, write, word, column, name):
    row = {"id": "a", "text": "t", "label": "l", column: word}
    if name.endswith("jsonl"):
        content = json.dumps(row)
    else:
        mark = "\t" if name.endswith("tsv") else ","
        content = mark.join(row) + "\n" + mark.join(row.values()) + "\n"
    rows, _ = read(write(name, content))
    assert rows == [row]


def test_ids_with_leading_zeros_are_two_ids(read, write):
    rows, _ = read(write("c.csv", 'id,text,label\n"007",a,x\n"7",b,y\n'))
    assert [row["id"] for row in rows] == ["007", "7"]


@pytest.mark.parametrize(
    "content", ["id,text,label\n1,a,x\n,b,x\n", 'id,text,label\n1,a,x\n"",b,x\n']
)
def test_a_blank_id_is_named_and_large_ids_stay(read, write, content):
    with pytest.raises(AtparError, match=r"c\.csv, row 2, column 'id': no id"):
        read(write("c.csv", content))
    rows, _ = read(write("d.csv", "id,text,label\n9007199254740993,a,x\n"))
    assert rows[0]["id"] == "9007199254740993"


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl", "c.csv.gz", "c.jsonl.gz"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(read, write, name):
    text = (
        '{"id":"a1","text":"x","label":"l"}' if "jsonl" in name else '"id","text","label"\na1,x,l'
    )
    content = b"\xef\xbb\xbf" + text.encode()
    rows, _ = read(write(name, gzip.compress(content) if name.endswith("gz") else content))
    assert rows == [{"id": "a1", "text": "x", "label": "l"}]


def test_quoted_line_breaks_across_blocks():
    content = "id,text\n" + "".join(f'{i},"a\nb"\n' for i in range(2000))
    batches = read_delimited(
        lambda: io.BytesIO(content.encode()), "c.csv", ["id", "text"], ",", '"', block_bytes=512
    )
    rows = pa.Table.from_batches(batches).to_pylist()
    assert [row["id"] for row in rows] == [str(i).encode() for i in range(2000)]
    assert {row["text"] for row in rows} == {b"a\nb"}


def test_long_fields_are_read(read, write):
    rows, _ = read(write("c.csv", "id,text,label\n1," + "x" * 200_000 + ",l\n"))
    assert len(rows[0]["text"]) == 200_000


def test_a_row_above_the_limit_is_refused():
    content = b"id,text\n1," + b"x" * 5000 + b"\n"
    with pytest.raises(AtparError, match="longer than"):
        list(read_delimited(lambda: io.BytesIO(content), "c.csv", ["id"], ",", '"', 1024))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,text,label\n1,a,x\n2,b\n", "row 2: 2 cells under 3 columns"),
        ("id,text,label\n1,a,x,y\n", "row 1: 4 cells under 3 columns"),
        ('id,text,label\n1,"never closed,x\n2,b,y\n', "row 1"),
        ('id,text,label\n1,"a"b,x\n', "row 1"),
        ("id,id,text,label\n1,2,a,x\n", "two columns are named 'id'"),
        ("", "empty"),
        ("id,text,label\n", "no rows"),
        ("id,txt,label\n1,a,x\n", "no column 'text' .*did you mean 'txt'"),
        ("id,text,label\n1,a,\n", "row 1, id '1', column 'label': no label"),
        ("id,text,label\n1,a,x\n2, ,x\n", r"empty or blank text in row 2 \(id '2'\)"),
        ("id,text,label\n1,a,x\n1,b,x\n", r"id '1': .*c\.csv, row 1; .*c\.csv, row 2"),
        (b"id,text,label\n1,caf\xe9,x\n", "row 1, column 'text': byte 3 is no valid UTF-8"),
        (b"id,text,label\n1,f\xfcr,x\n", "row 1, column 'text': byte 1 is no valid UTF-8"),
        ("id,text,label\n1,a,x\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_one_message_names_file_row_and_cause(read, write, content, message):
    with pytest.raises(AtparError, match=message) as caught:
        read(write("c.csv", content))
    assert "c.csv" in str(caught.value)


def test_quotes_inside_an_unquoted_cell_are_text(read, write):
    rows, _ = read(write("c.csv", 'id,text,label\n1,a 5" pipe,x\n2,b,x\n'))
    assert texts_of(rows) == ['a 5" pipe', "b"]


def test_crlf_ends_rows_and_stays_in_quotes(read, write):
    rows, _ = read(write("c.csv", 'id,text,label\r\n1,"a\r\nb",x\r\n\r\n2,c,x\r\n'))
    assert texts_of(rows) == ["a\r\nb", "c"]


def test_the_dialect_is_the_declared_one(read, write):
    path = write("c.csv", "id;text;label\n1;'a;b';x\n")
    rows, _ = read(path, dialect={"delimiter": ";", "quote": "'"})
    assert texts_of(rows) == ["a;b"]


def test_json_keeps_dates_and_numbers_as_written(read, write):
    lines = ['{"id":12345678901234567890,"text":"t","label":"l","date":"2024"}', ""]
    lines += ['{"id":"b","text":"u","label":true,"date":2024}']
    rows, _ = read(write("c.jsonl", "\n".join(lines)), subgroups=["date"])
    assert [row["id"] for row in rows] == ["12345678901234567890", "b"]
    assert [row["date"] for row in rows] == ["2024", "2024"]
    assert rows[1]["label"] == "true"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id":"b","label":"l"}', "row 2, id 'b', column 'text': the text is missing"),
        ('{"id":"b","text":null,"label":"l"}', "row 2, id 'b', column 'text'"),
        ('{"id":1.5,"text":"t","label":"l"}', "row 2, column 'id': a fractional number"),
        ('{"id":"b","text":["t"],"label":"l"}', "row 2, column 'text': a list"),
        ('{"id":"b","text":"\\ud83d","label":"l"}', "row 2, column 'text': .*surrogate"),
        ('{"id":"b","text":"t"', "row 2: no JSON object"),
        ('["b"]', "row 2: expected one JSON object a line, found a list"),
        ('{"id":"b","text":NaN,"label":"l"}', "row 2: no JSON object"),
    ],
)
def test_a_bad_line_is_named(read, write, line, message):
    with pytest.raises(AtparError, match=message):
        read(write("c.jsonl", '{"id":"a","text":"t","label":"l"}\n' + line + "\n"))


def without(key, value="x"):
    """Return two JSON lines, of which the first leaves a key out; `value` is that of `g\u00e9`."""
    second = {"id": "b", "text": "u", "label": "m", "g\u00e9": value}
    first = {name: value for name, value in {**second, "id": "a"}.items() if name != key}
    return f"{json.dumps(first)}\n{json.dumps(second)}\n"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("id", "row 1, column 'id': no id"),
        ("text", "row 1, id 'a', column 'text': the text is missing"),
        ("label", "row 1, id 'a', column 'label': no label"),
    ],
)
def test_a_key_that_the_first_row_leaves_out_is_a_missing_value(read, write, key, message):
    with pytest.raises(AtparError, match=message):
        read(write("c.jsonl", without(key)))


@pytest.mark.parametrize("value", ["x", 7])
def test_a_subgroup_that_the_first_row_leaves_out_has_no_value_there(read, write, value):
    rows, _ = read(write("c.jsonl", without("g\u00e9", value)), subgroups=["g\u00e9"])
    assert [row["g\u00e9"] for row in rows] == [None, str(value)]


def test_a_text_that_the_first_row_leaves_out_may_be_empty(read, write):
    policy = {"missing_text": "empty", "empty_text": "accept"}
    rows, found = read(write("c.jsonl", without("text")), policy=policy)
    assert texts_of(rows) == ["", "u"] and found["policy_counts"]["missing_text"] == 1


@pytest.mark.parametrize("name", ["txt", 't"xt'])
def test_a_key_of_no_row_is_no_column(read, write, name):
    lines = write("c.jsonl", '{"id":"a","text":"t","label":"l"}\n' * 2)
    with pytest.raises(AtparError, match=r"no column .*columns\.text"):
        read(lines, text=name)


@pytest.mark.parametrize("spelled", ['"text"', '"t\\u0065xt"'])
def test_a_later_key_is_found_however_it_is_spelled(read, write, spelled):
    rest = '"id":"%s","label":"l"'
    lines = "{" + rest % "a" + ',"text":null}\n{' + rest % "b" + f',{spelled}:"u"}}\n'
    with pytest.raises(AtparError, match="row 1, id 'a', column 'text': the text is missing"):
        read(write("c.jsonl", lines))


@pytest.mark.parametrize("key", ["id", "text", "label"])
@pytest.mark.parametrize("before", [0, 3])
def test_a_key_given_twice_is_refused(read, write, key, before):
    good = "".join(f'{{"id":"{n}","text":"t","label":"l"}}\n' for n in range(before))
    twice = f'{{"{key}":"one","id":"z","text":"t","label":"l"}}\n'
    with pytest.raises(AtparError, match=rf"c\.jsonl, row {before + 1}: '{key}' is given twice"):
        read(write("c.jsonl", good + twice))


def test_a_key_that_nobody_asks_for_may_stand_twice(read, write):
    rows, _ = read(write("c.jsonl", '{"id":1,"text":"t","label":"l","x":1,"x":2}\n'))
    assert texts_of(rows) == ["t"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["c.csv", "c.jsonl"])
def test_another_encoding_is_named(read, write, encoding, name):
    text = '{"id":"a","text":"t","label":"l"}' if "json" in name else "id,text,label\n1,a,x\n"
    with pytest.raises(AtparError, match=rf"{name}: written as UTF-16 or UTF-32; save it as UTF-8"):
        read(write(name, text.encode(encoding)))


def table(**columns):
    filled = {"id": ["a", "b"], "text": ["x", "y"], "label": ["l", "m"], **columns}
    return pa.table(filled)


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.dictionary(pa.int8(), pa.string()),
    ],
)
def test_every_stored_kind_of_text_reads_alike(read, tmp_path, kind):
    stored = table(id=pa.array(["a", "b"]).cast(kind), label=pa.array(["l", "m"]).cast(kind))
    path = tmp_path / "c.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, stored.schema) as writer:
        writer.write_table(stored)
    rows, _ = read(path)
    assert rows == table().to_pylist()


def test_shards_of_different_kinds_are_one_corpus(read, tmp_path):
    one = tmp_path / "1.parquet"
    pq.write_table(table(), one)
    two = tmp_path / "2.parquet"
    ids = pa.array(["c", "d"], pa.large_string()).dictionary_encode()
    pq.write_table(table(id=ids), two)
    rows, found = read(one, two)
    assert [row["id"] for row in rows] == ["a", "b", "c", "d"]
    assert [source["rows"] for source in found["sources"]] == [2, 2]


def test_whole_numbers_are_exact_and_others_refused(read, tmp_path):
    path = tmp_path / "c.parquet"
    pq.write_table(table(id=pa.array([2**63 - 1, -7])), path)
    assert [row["id"] for row in read(path)[0]] == ["9223372036854775807", "-7"]
    for values in ([1.0, 2.0], pa.array([1, 2], pa.timestamp("us")), [["a"], ["b"]]):
        pq.write_table(table(id=values), path)
        with pytest.raises(AtparError, match=r"c\.parquet: column 'id' holds .*write it as text"):
            read(path)


def test_a_missing_text_is_named_by_row_and_id(read, tmp_path):
    path = tmp_path / "c.parquet"
    pq.write_table(table(text=["x", None]), path)
    with pytest.raises(AtparError, match=r"c\.parquet, row 2, id 'b', column 'text'"):
        read(path)


def test_hive_folders_give_columns(read, tmp_path):
    for split, names in {"evaluation": ["a", "b"], "tuning": ["c", "d"]}.items():
        folder = tmp_path / "corpus" / f"split={split}"
        folder.mkdir(parents=True)
        pq.write_table(table(id=names), folder / "part.parquet")
    rows, _ = read(tmp_path / "corpus", split="split")
    assert {row["id"]: row["split"] for row in rows} == {
        "a": "evaluation", "b": "evaluation", "c": "tuning", "d": "tuning",
    }  # fmt: skip


def test_a_saved_data_set_gives_its_class_names(read, tmp_path):
    names = {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}
    stored = table(label=pa.array([1, 0])).replace_schema_metadata(
        {"huggingface": json.dumps(names)}
    )
    folder = tmp_path / "saved"
    folder.mkdir()
    with pa.ipc.new_stream(str(folder / "data-00000-of-00001.arrow"), stored.schema) as writer:
        writer.write_table(stored)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state))
    rows, _ = read(folder)
    assert [row["label"] for row in rows] == ["pos", "neg"]


def test_a_saved_dictionary_of_data_sets_asks_for_one(tmp_path):
    (tmp_path / "saved" / "train").mkdir(parents=True)
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(AtparError, match=r"name one of them: .*saved/train"):
        corpus_files([str(tmp_path / "saved")])


def test_state_may_not_reach_outside_its_folder(tmp_path):
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "../x.arrow"}]}')
    with pytest.raises(AtparError, match="outside its folder"):
        corpus_files([str(tmp_path)])


@pytest.mark.parametrize("name", ["c.xlsx", "c", "c.parquet.gz", "c.csv.zip"])
def test_an_unknown_kind_of_file_is_refused(name):
    with pytest.raises(AtparError, match="can't tell from its name"):
        corpus_files([name])


def test_a_missing_file_and_a_file_named_twice(tmp_path, write):
    path = write("reviews.csv", "id,text,label\n1,a,x\n")
    with pytest.raises(AtparError, match=r"no such file.*did you mean 'reviews.csv'"):
        corpus_files([str(tmp_path / "review.csv")])
    with pytest.raises(AtparError, match="twice"):
        corpus_files([str(path), str(path)])
    with pytest.raises(AtparError, match=r"more.csv: no such file; production.files names it"):
        corpus_files([str(tmp_path / "more.csv")], "production.files")


@pytest.mark.parametrize("name", ["c.csv.gz", "c.jsonl.zst", "c.parquet", "c.arrow"])
def test_a_damaged_file_is_one_message(read, write, name):
    with pytest.raises(AtparError, match=name):
        read(write(name, b"\x1f\x8bnot what it says"))


def test_a_cut_off_gzip_file_is_refused(read, write):
    whole = gzip.compress(
        b"id,text,label\n" + b"".join(b"%d,text %d,x\n" % (i, i) for i in range(9999))
    )
    with pytest.raises(AtparError, match=r"c\.csv\.gz"):
        read(write("c.csv.gz", whole[: len(whole) // 2]))


ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
ROWS = st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.sampled_from(["\n", "\r\n"]), st.integers(64, 400), st.sampled_from([0, 1]))
def test_what_csv_writes_is_what_is_read(rows, ending, block, quoting):
    # Python's writer leaves a lone CR unquoted, which ends a row for every reader, itself included.
    assume(quoting or not any("\r" in cell for row in rows for cell in row))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=ending, quoting=quoting)
    writer.writerow(["id", "text", "end"])
    writer.writerows([(*row, ".") for row in rows])
    content = stream.getvalue().encode()
    if any(len(cell.encode()) > 30 for row in rows for cell in row):
        block = 4096  # a row must fit into a block
    batches = read_delimited(lambda: io.BytesIO(content), "c", ["id", "text"], ",", '"', block)
    found = [(row["id"].decode(), row["text"].decode()) for b in batches for row in b.to_pylist()]
    assert found == rows


@settings(max_examples=150, deadline=None)
@given(ROWS, st.booleans())
def test_what_json_writes_is_what_is_read(rows, ascii_only):
    lines = [json.dumps({"id": a, "text": b}, ensure_ascii=ascii_only) + "\n" for a, b in rows]
    content = "".join(lines).encode()
    batches = read_lines(lambda: io.BytesIO(content), "c", ["id", "text"])
    decoded = [
        tuple(v if isinstance(v, str) else v.decode() for v in row.values())
        for batch in batches
        for row in batch.to_pylist()
    ]
    assert decoded == rows


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["csv", "jsonl", "parquet", "arrow", "csv.gz"]))
def test_any_bytes_give_rows_or_one_message(tmp_path_factory, content, kind):
    from atpar.corpus.fingerprint import fingerprint_corpus

    folder: Path = tmp_path_factory.mktemp("fuzz")
    path = folder / f"c.{kind}"
    start = {"csv": b"id,text,label\n", "jsonl": b'{"id":"a","text":"t","label":"l"}\n'}.get(
        kind, b""
    )
    path.write_bytes(start + content)
    columns = {"id": "id", "text": "text", "label": "label", "split": None, "subgroups": []}
    policy = dict.fromkeys(["empty_text", "duplicate_text", "control_characters"], "accept")
    dialect = {"delimiter": ",", "quote": '"'}
    try:
        fingerprint_corpus([str(path)], columns, dialect, policy, folder / "t", folder / "f")
    except AtparError as error:
        assert str(folder) in str(error) or "ids are there more than once" in str(error)
