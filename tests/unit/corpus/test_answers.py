"""Reference answers of several labels and of numbers, in every format that can hold them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.corpus.answers import answer_codes, as_answers, set_text
from atpar.errors import AtparError

SETS = [["b", "a"], [], ["c"]]
TEXTS = ['["a", "b"]', "[]", '["c"]']
SEVERAL = {"label_kind": "multiple", "label_separator": None}
PARTED = {"label_kind": "multiple", "label_separator": ";"}
NUMBER = {"label_kind": "number", "label_separator": None}
ROWS = {"id": ["1", "2", "3"], "text": ["x", "y", "z"]}


def parquet(path, labels):
    pq.write_table(pa.table({**ROWS, "label": labels}), path)
    return path


def jsonl(write, labels):
    lines = [
        f'{{"id": "{number}", "text": "t", "label": {label}}}'
        for number, label in enumerate(labels, start=1)
    ]
    return write("c.jsonl", "\n".join(lines) + "\n")


def answers(rows):
    return [row["label"] for row in rows]


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string())], ids=str)
def test_lists_are_sets_of_labels(read, tmp_path, kind):
    rows, facts = read(parquet(tmp_path / "c.parquet", pa.array(SETS, kind)), **SEVERAL)
    assert answers(rows) == TEXTS
    assert facts["label_kind"] == "multiple"


def test_every_format_gives_the_same_sets(read, write, tmp_path):
    expected = read(parquet(tmp_path / "c.parquet", pa.array(SETS)), **SEVERAL)[0]
    lines = jsonl(write, ['["b", "a"]', "[]", '["c"]'])
    assert answers(read(lines, **SEVERAL)[0]) == answers(expected)
    parted = write("c.csv", "id,text,label\n1,x,b;a\n2,y,\n3,z,c\n")
    assert answers(read(parted, **PARTED)[0]) == answers(expected)
    arrays = write("d.csv", 'id,text,label\n1,x,"[""b"",""a""]"\n2,y,[]\n3,z,"[""c""]"\n')
    assert answers(read(arrays, **SEVERAL)[0]) == answers(expected)


def saved(folder, labels, feature):
    """Write labels as `save_to_disk` does, with what its schema says of them."""
    described = {"info": {"features": {"label": feature}}}
    table = pa.table({**ROWS, "label": labels}).replace_schema_metadata(
        {"huggingface": json.dumps(described)}
    )
    folder.mkdir()
    with pa.ipc.new_stream(str(folder / "data.arrow"), table.schema) as writer:
        writer.write_table(table)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    return folder


WHOLE = [[2, 10], [], [9007199254740993]]
TRUTHS = [[True], [], [False, True]]


@pytest.mark.parametrize(
    ("lists", "texts"),
    [
        (WHOLE, ['["10", "2"]', "[]", '["9007199254740993"]']),
        (TRUTHS, ['["true"]', "[]", '["false", "true"]']),
    ],
)
def test_every_format_gives_the_same_sets_of_numbers(read, write, tmp_path, lists, texts):
    written = [json.dumps(one) for one in lists]
    rows = zip(ROWS["id"], written, strict=True)
    cells = write("c.csv", "id,text,label\n" + "".join(f'{one},x,"{cell}"\n' for one, cell in rows))
    files = [
        cells,
        jsonl(write, written),
        parquet(tmp_path / "c.parquet", pa.array(lists)),
        parquet(tmp_path / "d.parquet", pa.array(lists, pa.large_list(pa.array(lists[0]).type))),
        saved(tmp_path / "saved", pa.array(lists), {"_type": "List", "feature": {}}),
    ]
    for path in files:
        assert answers(read(path, **SEVERAL)[0]) == texts, path


@pytest.mark.parametrize("label", ["1.5", "1e2", "1.0"])
def test_fractions_are_labels_in_no_format(read, write, tmp_path, label):
    stored = parquet(tmp_path / "c.parquet", pa.array([[float(label)], [], []]))
    with pytest.raises(AtparError, match="holds double, which has no single spelling"):
        read(stored, **SEVERAL)
    for path in (jsonl(write, [f"[{label}]"]), write("c.csv", f"id,text,label\n1,x,[{label}]\n")):
        with pytest.raises(AtparError, match=r"row 1, column 'label'.*something else than labels"):
            read(path, **SEVERAL)


CLASSES = {"names": ["neg", "pos"], "_type": "ClassLabel"}


@pytest.mark.parametrize(
    "feature",
    [
        {"feature": CLASSES, "length": -1, "_type": "Sequence"},
        {"feature": CLASSES, "_type": "List"},
        {"feature": CLASSES, "_type": "LargeList"},
        [CLASSES],
    ],
)
def test_lists_of_class_indices_give_the_stored_names(read, tmp_path, feature):
    found = read(saved(tmp_path / "saved", pa.array([[1, 0], [], [1]]), feature), **SEVERAL)[0]
    assert answers(found) == ['["neg", "pos"]', "[]", '["pos"]']
    outside = saved(tmp_path / "other", pa.array([[1, 0], [], [0, 2]]), feature)
    with pytest.raises(AtparError, match="row 3, column 'label': class index 2"):
        read(outside, **SEVERAL)
    absent = saved(tmp_path / "third", pa.array([[1, 0], [0, -1], []]), feature)
    with pytest.raises(AtparError, match=r"row 2, column 'label'.*something else than labels"):
        read(absent, **SEVERAL)


def test_a_stored_label_that_is_no_utf8_is_named_with_its_row(read, tmp_path):
    labels = pa.array([[b"a", b"b"], [], [b"a", b"\xff"]], pa.list_(pa.binary()))
    with pytest.raises(AtparError, match="row 3, column 'label': byte 0 is no valid UTF-8"):
        read(parquet(tmp_path / "c.parquet", labels), **SEVERAL)


def test_the_order_of_labels_in_a_cell_changes_no_digest(read, write):
    one = read(write("c.csv", "id,text,label\n1,x,b;a\n"), **PARTED)[1]
    other = read(write("c.csv", "id,text,label\n1,x,a;b\n"), **PARTED)[1]
    assert one["source_digest"] == other["source_digest"]


@pytest.mark.parametrize(
    ("cell", "columns", "said"),
    [
        ("a;", PARTED, r"row 1, column 'label': 'a;' holds an empty label"),
        ("a;b;a", PARTED, "names a label twice"),
        ('"[""a"", ""b""]"', PARTED, "is a JSON array, which no separator parts"),
        ('"[""a;b"", ""c""]"', PARTED, "is a JSON array, which no separator parts"),
        ("a", SEVERAL, "'a' is no list of labels.*label_separator"),
        ('"[1.5]"', SEVERAL, "something else than labels"),
        ('"[null]"', SEVERAL, "something else than labels"),
        ('"[[1]]"', SEVERAL, "something else than labels"),
        ('"[1, ""1""]"', SEVERAL, "names a label twice"),
        ('"{""a"": 1}"', SEVERAL, "is no list of labels"),
        ("[" * 100_000, SEVERAL, "is no list of labels"),
        ("many", NUMBER, "row 1, column 'label': the answer is 'many', expected a finite number"),
        ("nan", NUMBER, "the answer is 'nan'"),
        ("1e999", NUMBER, "the answer is '1e999'"),
        ("1_000", NUMBER, "the answer is '1_000'"),
    ],
)
def test_a_cell_that_is_no_answer_is_named_with_its_row(read, write, cell, columns, said):
    with pytest.raises(AtparError, match=said):
        read(write("c.csv", f"id,text,label\n1,x,{cell}\n"), **columns)


def test_jsonl_lists_need_no_separator(read, write):
    path = write("c.jsonl", '{"id": "1", "text": "x", "label": ["a", "b"]}\n')
    assert answers(read(path, **SEVERAL)[0]) == ['["a", "b"]']
    with pytest.raises(AtparError, match=r"row 1, column 'label': .* leave out .*label_separator"):
        read(path, **PARTED)


def test_spaces_are_part_of_a_label(read, write):
    assert answers(read(write("c.csv", "id,text,label\n1,x,a; b\n"), **PARTED)[0]) == [
        '[" b", "a"]'
    ]


def test_lists_where_one_label_is_expected_are_refused(read, tmp_path):
    with pytest.raises(AtparError, match=r"holds lists.*label_kind: multiple"):
        read(parquet(tmp_path / "c.parquet", pa.array(SETS)))


@pytest.mark.parametrize("value", [[["a"]], [{"name": "a"}]])
def test_lists_of_lists_are_no_labels(read, tmp_path, value):
    table = pa.table({"id": ["1"], "text": ["t"], "label": pa.array([value])})
    pq.write_table(table, tmp_path / "c.parquet")
    with pytest.raises(AtparError, match=r"column 'label': lists of (list|struct)"):
        read(tmp_path / "c.parquet", **SEVERAL)


def test_an_entry_without_answer_is_refused_among_sets(read, tmp_path):
    with pytest.raises(AtparError, match="row 2, column 'label': no answer"):
        read(parquet(tmp_path / "c.parquet", pa.array([["a"], None, []])), **SEVERAL)


def test_numbers_stay_as_they_were_written(read, write, tmp_path):
    written = ["1.50", "-3", "1e-3"]
    assert answers(read(jsonl(write, written), **NUMBER)[0]) == written
    lines = write("c.csv", "id,text,label\n" + "".join(f"{n},x,{n}.50\n" for n in range(3)))
    assert answers(read(lines, **NUMBER)[0]) == ["0.50", "1.50", "2.50"]
    stored = parquet(tmp_path / "c.parquet", pa.array([0.1, 3.0, -2e-7]))
    assert [float(one) for one in answers(read(stored, **NUMBER)[0])] == [0.1, 3.0, -2e-7]


def test_a_fraction_is_still_no_label(read, write):
    with pytest.raises(AtparError, match="a fractional number"):
        read(jsonl(write, ["1.5"]))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_stored_number_reads_back_the_same(numbers):
    text = as_answers(pa.array(numbers), {"label": "label", **NUMBER}, "c", 1)
    codes, known = answer_codes(text, [], "number")
    assert known.all()
    assert codes.tolist() == numbers


@given(st.lists(st.sets(st.text(min_size=1, max_size=5), max_size=4), min_size=1))
def test_a_set_reads_back_the_same(sets):
    labels = sorted({label for one in sets for label in one} | {"x"})
    column = pa.array([list(one) for one in sets], pa.list_(pa.string()))
    text = as_answers(column, {"label": "label", **SEVERAL}, "c", 1)
    flags, known = answer_codes(text, labels, "multiple")
    assert known.all()
    found = [{labels[place] for place in row.nonzero()[0]} for row in flags]
    assert found == sets


def test_unknown_answers_are_told_from_known_ones():
    texts = pa.array([set_text(["a"]), set_text(["a", "z"]), "no list", None])
    flags, known = answer_codes(texts, ["a", "b"], "multiple")
    assert known.tolist() == [True, False, False, False]
    assert flags[0].tolist() == [True, False]
    codes, known = answer_codes(pa.array(["b", "z", None]), ["a", "b"], "single")
    assert (codes.tolist(), known.tolist()) == ([1, -1, -1], [True, False, False])
    _, known = answer_codes(pa.array(["1.5", "x", None]), [], "number")
    assert known.tolist() == [True, False, False]


def test_a_map_renames_each_label_of_a_set(measured_as):
    found = measured_as(TEXTS, "multiple", {"a": "A", "c": "b"})
    assert found.classes == sorted({json.dumps(["A", "b"]), "[]", json.dumps(["b"])})
    with pytest.raises(AtparError, match="'d', which the corpus doesn't have"):
        measured_as(TEXTS, "multiple", {"d": "e"})


def test_numbers_are_no_classes_to_be_drawn_in_proportion(measured_as):
    found = measured_as(["1", "2", "3"], "number", {})
    assert found.classes == [""] and found.class_of.tolist() == [0, 0, 0]


@pytest.fixture
def measured_as(tmp_path):
    """Return a function that measures three entries with these answers."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    from atpar.corpus.measure import measure
    from atpar.corpus.tokens import TokenCounter

    built = Tokenizer(models.WordLevel({"x": 0, "y": 1, "z": 2}, unk_token="x"))
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    built.save(str(tmp_path / "tokenizer.json"))

    def run(texts, kind, label_map):
        path = tmp_path / "source.parquet"
        text = {name: pa.array(values, pa.large_string()) for name, values in ROWS.items()}
        pq.write_table(pa.table({**text, "label": pa.array(texts, pa.large_string())}), path)
        counter = TokenCounter(tmp_path / "tokenizer.json")
        return measure(path, counter, {"pad_token": None}, label_map, "reject", kind)

    return run
