"""Corpus files as people bring them: C01 to C18 of the table in README.md."""

import csv
import gzip
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.corpus.delimited import read_delimited
from atpar.errors import AtparError

FORMATS = ("csv", "tsv", "jsonl", "csv.gz", "jsonl.zst", "parquet", "arrow")
TEXTUAL = ("csv", "tsv", "jsonl", "csv.gz", "jsonl.zst")
HEAD = "id,text,label\n"


@pytest.fixture
def stored(write, encoded):
    """Return a function that writes rows in one format and returns the file's path."""
    return lambda rows, kind, name="c": write(f"{name}.{kind}", encoded(rows, kind))


def rows_of(column, values):
    """Return rows whose `column` has these values."""
    plain = ({"id": f"e{n}", "text": f"text {n}", "label": "x"} for n in range(len(values)))
    return [{**row, column: value} for row, value in zip(plain, values, strict=True)]


def parquet(tmp_path, name="c.parquet", **columns):
    """Write a table of two rows, some columns given as Arrow arrays, and return its path."""
    given = {"id": ["a", "b"], "text": ["s", "t"], "label": ["x", "y"], **columns}
    pq.write_table(pa.table(given), tmp_path / name)
    return tmp_path / name


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("column", ["id", "text", "label", "group"])
def test_c01_words_that_look_like_missing_values_stay(read, stored, kind, column):
    words = ["NA", "null", "n/a", "None", "NaN", "nan", "#N/A", "fine"]
    columns = {"subgroups": ["group"]} if column == "group" else {}
    rows, found = read(stored(rows_of(column, words), kind), columns=columns)
    assert [row[column] for row in rows] == words
    assert found["rows"] == len(words)


@pytest.mark.parametrize("row", [1, 2])
def test_c01_only_what_is_truly_absent_is_missing(read, write, tmp_path, row):
    line = {"id": "a", "text": "t", "label": "x"}
    absent = {name: value for name, value in line.items() if name != "text"}
    for other in ({**line, "id": "b", "text": None}, {**absent, "id": "b"}):
        lines = [other, line] if row == 1 else [line, other]
        path = write("c.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
        message = f"row {row}, id 'b', column 'text': the text is missing"
        with pytest.raises(AtparError, match=message):
            read(path)
    with pytest.raises(AtparError, match=r"row 2, id 'b', column 'label': no label"):
        read(parquet(tmp_path, label=["x", None]))


ABSENT = {
    "parquet": pa.string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "view": pa.string_view(),
    "bytes": pa.binary(),
}


@pytest.mark.parametrize("row", [1, 2])
@pytest.mark.parametrize("kind", ["null", "no key", *ABSENT])
def test_c01_absent_texts_are_taken_as_declared_and_counted(read, write, tmp_path, kind, row):
    texts = ["s", None] if row == 2 else [None, "s"]
    if kind in ABSENT:
        path = parquet(tmp_path, text=pa.array(texts).cast(ABSENT[kind]))
    else:
        lines = [
            {"id": one, "text": text, "label": "x"} for one, text in zip("ab", texts, strict=True)
        ]
        if kind == "no key":
            del lines[row - 1]["text"]
        path = write("c.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    rows, found = read(path, policy={"missing_text": "empty", "empty_text": "accept"})
    assert [one["text"] for one in rows] == [text or "" for text in texts]
    assert found["policy_counts"]["missing_text"] == found["policy_counts"]["empty_text"] == 1
    with pytest.raises(AtparError, match=rf"blank text in row {row} \(id '{'ab'[row - 1]}'\)"):
        read(path, policy={"missing_text": "empty"})


def options_of_every_table(recorded, offers, variants):
    """Return the options that each table and the decision name, once passes are recorded."""
    done = recorded(
        protocol={"tolerance": {"reference": variants[0]}, "repetitions": 1, "minimum_span_s": 0},
        prices={offer: recorded.price() for offer in offers},
    )
    for offer in offers:
        for variant in variants:
            done.add_option(variant, [10.0], offer=offer)
    decision, text = done.decide()
    found = {"decision": [(one.offer, one.variant) for one in decision.options]}
    for name in ("attempts", "summary", "balance", "deliverables"):
        with done.path(f"{name}.csv").open(newline="", encoding="utf-8") as stream:
            rows = csv.DictReader(stream)
            found[name] = [(row["offer"], row["variant"]) for row in rows]
    assert all(f"{variant} on {offer}" in text for offer in offers for variant in variants)
    return {name: sorted(options) for name, options in found.items()}


def test_c01_names_that_look_like_missing_values_stay_in_every_table(recorded):
    offers, variants = ["NA", "null"], ["nan", "None"]
    expected = sorted((offer, variant) for offer in offers for variant in variants)
    found = options_of_every_table(recorded, offers, variants)
    assert found == dict.fromkeys(found, expected)


def test_c02_a_corpus_that_went_through_pandas_and_csv(read, tmp_path):
    path = tmp_path / "c.csv"
    frame = pd.DataFrame({"id": ["1", "2"], "t": ["N/A", "ok"], "label": ["x", "y"]})
    frame.to_csv(path, index=False)
    rows, _ = read(path, columns={"text": "t"})
    assert [row["text"] for row in rows] == ["N/A", "ok"]
    # What pandas itself took for missing on the way is an empty cell by now.
    pd.read_csv(path).to_csv(path, index=False)
    with pytest.raises(AtparError, match=r"c\.csv, column 't': .*blank text in row 1 \(id '1'\)"):
        read(path, columns={"text": "t"})


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("column", ["id", "label", "group"])
def test_c03_leading_zeros_and_other_spellings_of_a_number_stay(read, stored, kind, column):
    spelt = ["007", "7", "7.0", "+7", "1e3", "0x7", " 7"]
    columns = {"subgroups": ["group"]} if column == "group" else {}
    rows, _ = read(stored(rows_of(column, spelt), kind), columns=columns)
    assert [row[column] for row in rows] == spelt


def test_c03_the_second_of_two_equal_ids_is_named(read, stored):
    with pytest.raises(AtparError, match=r"id '007': .*row 1; .*row 3"):
        read(stored(rows_of("id", ["007", "7", "007"]), "csv"))


def test_c03_names_that_look_like_numbers_stay_in_every_table(recorded):
    offers, variants = ["007", "7"], ["010", "10", "1e3", "1000"]
    expected = sorted((offer, variant) for offer in offers for variant in variants)
    found = options_of_every_table(recorded, offers, variants)
    assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize("blank", ["", '""'])
def test_c04_a_blank_id_is_named_and_turns_no_other_into_a_float(read, write, blank):
    content = f"{HEAD}9007199254740993,a,x\n{blank},b,y\n"
    with pytest.raises(AtparError, match=r"c\.csv, row 2, column 'id': no id"):
        read(write("c.csv", content))
    rows, _ = read(write("d.csv", content.replace(f"\n{blank},", "\n3,")))
    assert [row["id"] for row in rows] == ["9007199254740993", "3"]


def test_c04_ids_that_became_floats_before_are_refused(read, tmp_path):
    whole = pa.array([9007199254740993, None], pa.int64())
    with pytest.raises(AtparError, match=r"row 2, column 'id': no id"):
        read(parquet(tmp_path, id=whole))
    frame = pd.DataFrame({"id": [1, None], "text": ["a", "b"], "label": ["x", "y"]})
    frame.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(AtparError, match=r"column 'id' holds double.*floating-point"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("kind", TEXTUAL)
def test_c06_a_byte_order_mark_is_no_part_of_the_first_name(read, write, encoded, kind):
    name, _, compression = kind.partition(".")
    content = b"\xef\xbb\xbf" + encoded([{"id": "a1", "text": "x", "label": "l"}], name)
    if compression:
        import zstandard

        content = {"gz": gzip.compress, "zst": zstandard.compress}[compression](content)
    rows, _ = read(write(f"c.{kind}", content))
    assert rows == [{"id": "a1", "text": "x", "label": "l"}]


def test_c06_price_files_and_tables_may_have_one_and_ours_have_none(tmp_path):
    from pathlib import Path

    from atpar.config.load import read_table
    from atpar.config.variants import Variant
    from atpar.money.priced import load_tariffs
    from atpar.money.schemas import BALANCE
    from atpar.money.tables import write_table

    repository = Path(__file__).resolve().parents[2]
    for source in sorted((repository / "resources/tariffs").glob("*.csv")):
        marked = tmp_path / source.name
        marked.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
        assert len(load_tariffs([str(marked)])) == len(load_tariffs([str(source)])) > 0
    table = tmp_path / "variants.tsv"
    table.write_bytes(b"\xef\xbb\xbf" + b"variant\tbatch_size\nb1\t1\n")
    assert [row.batch_size for row in read_table(table, Variant, "variant")] == [1]
    write_table(tmp_path / "balance.csv", [], BALANCE)
    assert (tmp_path / "balance.csv").read_bytes().startswith(b"offer,")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_c08_quoted_line_breaks_across_blocks(ending, delimiter):
    lines = [delimiter.join(["id", "text"]), *(f'{n}{delimiter}"a{ending}b"' for n in range(2000))]
    content = "".join(line + ending for line in lines).encode()
    batches = read_delimited(
        lambda: io.BytesIO(content), "c", ["id", "text"], delimiter, '"', block_bytes=512
    )
    rows = pa.Table.from_batches(batches).to_pylist()
    assert [row["id"] for row in rows] == [str(n).encode() for n in range(2000)]
    assert {row["text"] for row in rows} == {f"a{ending}b".encode()}


@pytest.mark.parametrize("kind", TEXTUAL)
def test_c09_a_field_longer_than_pythons_limit_is_read(read, stored, kind):
    rows, _ = read(stored(rows_of("text", ["x" * 131_073, "y"]), kind))
    assert [len(row["text"]) for row in rows] == [131_073, 1]


def test_c09_above_our_own_limit_the_row_is_named():
    content = b"id,text\n1,short\n2," + b"x" * 5000 + b"\n"
    with pytest.raises(AtparError, match=r"c\.csv, row 2 .*longer than 1,?024 bytes"):
        list(read_delimited(lambda: io.BytesIO(content), "c.csv", ["id"], ",", '"', 1024))


@pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
def test_c12_every_string_type_of_pandas_gives_the_same_message(read, tmp_path, dtype):
    text = pd.Series(["a", None], dtype=dtype)
    frame = pd.DataFrame({"id": ["1", "2"], "text": text, "label": ["x", "y"]})
    frame.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(AtparError) as caught:
        read(tmp_path / "c.parquet")
    assert str(caught.value) == (
        f"{tmp_path}/c.parquet, row 2, id '2', column 'text': the text is missing (null); an "
        "empty text is written as an empty string"
    )
    assert frame["text"].dtype == dtype


KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


@pytest.mark.parametrize("column", ["id", "text", "label"])
def test_c13_shards_of_every_kind_of_string_are_one_corpus(read, tmp_path, column):
    paths = []
    for number, kind in enumerate(KINDS):
        names = {"id": [f"{number}a", f"{number}b"]}
        values = pa.array(names.get(column, ["v", "w"]), pa.string()).cast(kind)
        paths.append(parquet(tmp_path, f"{number}.parquet", **{**names, column: values}))
    rows, found = read(*paths)
    assert [row["id"] for row in rows] == [f"{n}{part}" for n in range(len(KINDS)) for part in "ab"]
    if column != "id":
        assert [row[column] for row in rows] == ["v", "w"] * len(KINDS)
    assert {source["rows"] for source in found["sources"]} == {2}


def test_c13_unused_categories_are_no_classes(split, tokenizer, tmp_path):
    label = pd.Categorical(["x", "y"], categories=["x", "y", "never"])
    frame = pd.DataFrame({"id": ["1", "2"], "text": ["a", "b"], "label": label})
    frame.to_parquet(tmp_path / "c.parquet")
    _, facts = split(tmp_path / "c.parquet", tokenizer=tokenizer(["[UNK]", "a", "b"]))
    assert facts["class_counts"] == {"all": {"x": 1, "y": 1}}


@pytest.mark.parametrize("name", ["date", "modified", "created_at", "timestamp"])
@pytest.mark.parametrize("kind", FORMATS)
def test_c14_a_column_that_looks_like_a_date_stays_text(read, stored, kind, name):
    years = ["2024", "2024-02-30", "1700000000"]
    rows, _ = read(stored(rows_of(name, years), kind), columns={"subgroups": [name]})
    assert [row[name] for row in rows] == years


def test_c14_whole_numbers_are_exact_and_alike_from_every_format(read, write, tmp_path):
    large = 9_223_372_036_854_775_807
    lines = [json.dumps({"id": n, "text": "t", "label": 1}) + "\n" for n in (large, -7)]
    files = [
        write("c.csv", f"{HEAD}{large},t,1\n-7,t,1\n"),
        write("c.jsonl", "".join(lines)),
        parquet(tmp_path, id=pa.array([large, -7]), text=["t", "t"], label=pa.array([1, 1])),
    ]
    expected = [{"id": str(n), "text": "t", "label": "1"} for n in (large, -7)]
    for path in files:
        assert read(path)[0] == expected, path


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.time64("us")])
@pytest.mark.parametrize("column", ["id", "label", "day"])
def test_c14_times_have_no_single_spelling_and_are_refused(read, tmp_path, kind, column):
    path = parquet(tmp_path, **{column: pa.array([1, 2], pa.int64()).cast(kind)})
    columns = {"subgroups": ["day"]} if column == "day" else {}
    with pytest.raises(AtparError, match=rf"column '{column}' holds .*ISO 8601"):
        read(path, columns=columns)


@pytest.mark.parametrize("kind", FORMATS)
def test_c16_twins_stay_two_and_text_twins_are_told(split, stored, tokenizer, kind):
    twins = ["\u00e9", "e\u0301"]
    for column in ("id", "text", "label"):
        path = stored(rows_of(column, twins), kind, name=column)
        entries, facts = split(path, tokenizer=tokenizer(["[UNK]", "text"]))
        assert [entry[column] for entry in entries] == twins, column
        assert facts["policy_counts"]["twin_text"] == (column == "text")
        told = [note for note in facts["notes"] if "NFC" in note]
        assert bool(told) == (column == "text")


@pytest.mark.parametrize("column", ["text", "id", "label"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "surrogate", "parquet", "arrow"])
def test_c16_what_is_no_unicode_is_named_or_replaced_and_counted(
    read, write, tmp_path, kind, column
):
    values = {"id": b"b", "text": b"t", "label": b"y", column: b"caf\xe9"}
    if kind == "csv":
        path = write("c.csv", HEAD.encode() + b"a,s,x\n" + b",".join(values.values()) + b"\n")
    elif kind in ("jsonl", "surrogate"):
        wrong = b"\\ud83d" if kind == "surrogate" else b"\xe9"
        cells = [b'"%s": "%s"' % (name.encode(), one) for name, one in values.items()]
        line = b"{" + b", ".join(cells).replace(b"\xe9", wrong) + b"}\n"
        path = write("c.jsonl", b'{"id": "a", "text": "s", "label": "x"}\n' + line)
    else:
        firsts = {"id": b"a", "text": b"s", "label": b"x"}
        table = pa.table({name: pa.array([firsts[name], one]) for name, one in values.items()})
        path = tmp_path / f"c.{kind}"
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)
    with pytest.raises(AtparError, match=rf"row 2, column '{column}': byte 3 is (no|half)"):
        read(path)
    if column == "text":
        rows, found = read(path, policy={"invalid_unicode": "replace"})
        assert rows[1]["text"].rstrip("\ufffd") == "caf" != rows[1]["text"]
        assert found["policy_counts"]["invalid_unicode"] == 1
    else:
        with pytest.raises(AtparError, match=f"column '{column}'"):
            read(path, policy={"invalid_unicode": "replace"})


@pytest.mark.parametrize("column", ["text", "id", "label"])
def test_c16_halves_that_are_spelled_are_never_put_together(read, write, column):
    """Beside a numeric id Python parses, and two spelled halves could become one character."""
    cells = {"id": "1", "text": '"t"', "label": '"y"', column: r'"caf\udcc3\udca9"'}
    line = ", ".join(f'"{name}": {cell}' for name, cell in cells.items())
    path = write("c.jsonl", '{"id": 0, "text": "s", "label": "x"}\n{' + line + "}\n")
    with pytest.raises(AtparError, match=rf"row 2, column '{column}': byte 3 is (no|half)"):
        read(path)


def test_c16_a_line_that_is_broken_in_both_ways_is_refused(read, write):
    path = write("c.jsonl", b'{"id": 1, "text": "caf\xe9", "label": "\\udcc3\\udca9"}\n')
    with pytest.raises(AtparError, match=r"row 1: no JSON object .*by halves besides"):
        read(path)


@pytest.mark.parametrize("character", ["\x00", "\x1f", "\x7f", "\x80", "\x84", "\x86", "\x9f"])
def test_c17_control_characters_are_counted_or_refused(read, tmp_path, character):
    path = parquet(tmp_path, text=[f"a{character}b", "tab\t, lines\n\r\x85, caf\u00e9"])
    assert read(path)[1]["policy_counts"]["control_characters"] == 1
    with pytest.raises(AtparError, match="control"):
        read(path, policy={"control_characters": "reject"})


ODD = ["", "   ", "\u200b", "ok"]


@pytest.mark.parametrize("kind", FORMATS)
def test_c17_empty_and_blank_texts_are_refused_or_counted_and_kept(split, stored, tokenizer, kind):
    marked = tokenizer(["[UNK]", "[CLS]", "[SEP]", "ok"], "[CLS]", "[SEP]")
    path = stored(rows_of("text", ODD), kind)
    with pytest.raises(AtparError, match=r"blank text in row 1 \(id 'e0'\), row 2 \(id 'e1'\)"):
        split(path, tokenizer=marked)
    entries, facts = split(path, tokenizer=marked, policy={"empty_text": "accept"})
    assert [entry["text"] for entry in entries] == ODD
    assert facts["policy_counts"]["empty_text"] == 2
    assert facts["policy_counts"]["without_tokens"] == 3, "the tokenizer drops U+200B"
    assert facts["rows_in"] == facts["rows_out"] == 4


def test_c17_a_text_that_only_the_tokenizer_empties_is_named(split, stored, tokenizer):
    marked = tokenizer(["[UNK]", "[CLS]", "[SEP]"], "[CLS]", "[SEP]")
    with pytest.raises(AtparError, match="id 'e0': the tokenizer finds no tokens"):
        split(stored(rows_of("text", ["\u200b", "ok"]), "csv"), tokenizer=marked)


def test_c17_a_row_of_no_tokens_at_all_is_an_error_whatever_is_accepted(split, stored, tokenizer):
    path = stored(rows_of("text", ["ok", " "]), "csv")
    with pytest.raises(AtparError, match="id 'e1': no tokens at all"):
        split(path, tokenizer=tokenizer(["[UNK]"]), policy={"empty_text": "accept"})


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("labels", [["True", "False"], ["0", "1"], ["0.0", "1"], ["yes", "no"]])
def test_c18_labels_are_the_strings_that_were_written(read, stored, kind, labels):
    rows, _ = read(stored(rows_of("label", labels), kind))
    assert [row["label"] for row in rows] == labels


def test_c18_only_a_map_makes_them_the_models_and_an_unknown_one_is_named(
    split, stored, tokenizer, tmp_path
):
    from atpar.canonical import write_json
    from atpar.model.labels import check_labels

    write_json(tmp_path / "model.json", {"labels": ["false", "true"]})
    path = stored(rows_of("label", ["True", "False"]), "csv")
    words = tokenizer(["[UNK]"])
    files = [tmp_path / name for name in ("reference.parquet", "model.json", "labels.json")]
    split(path, tokenizer=words)
    with pytest.raises(AtparError, match=r"label 'True' \(id 'e0'\) is none of the model's"):
        check_labels(*files)
    split(path, tokenizer=words, label_map={"True": "true", "False": "false"})
    assert check_labels(*files)["reference_labels"] == ["false", "true"]
    with pytest.raises(AtparError, match="row 2, id 'e1', column 'label': no label"):
        split(stored(rows_of("label", ["1", ""]), "csv"), tokenizer=words)


def test_c18_stored_truth_values_have_one_spelling(read, write, tmp_path):
    line = '{"id":"%s","text":"t","label":%s}\n'
    lines = write("c.jsonl", line % ("a", "true") + line % ("b", "false"))
    for path in (lines, parquet(tmp_path, label=[True, False])):
        assert [row["label"] for row in read(path)[0]] == ["true", "false"]
