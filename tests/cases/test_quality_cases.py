"""Cases of quality: a metric that flatters, labels of two types, small groups, rare classes."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.canonical import write_json
from atpar.config.protocol import Protocol
from atpar.errors import AtparError
from atpar.model.labels import check_labels
from atpar.quality.metrics import Entries, evaluate

STEADY = [10.0, 10.1, 10.2, 10.05, 10.15]


def quality_of(campaign, variant="b1"):
    """Return the quality file of an option, and the entry of its first pass."""
    campaign.judge()
    document = json.loads(campaign.path(f"quality/card/{variant}.json").read_text("utf-8"))
    return document, document["passes"][0]


# Q02: a class that is never predicted, or never asked for, is no perfect class.


def three_classes(reference, predicted):
    names = ["neg", "neu", "pos"]
    codes = [
        np.array([names.index(one) for one in side], np.int32) for side in (predicted, reference)
    ]
    return Entries(names, *codes)


def test_q02_a_class_that_is_never_predicted_counts_as_zero():
    # Half of the answers are never found: 0.5 of neg, 0 of neu (never predicted), 0.67 of pos.
    entries = three_classes(
        ["neg", "neg", "neu", "neu", "pos", "pos"], ["neg", "pos", "neg", "pos", "pos", "pos"]
    )
    found = evaluate(["macro_f1", "macro_precision", "f1[neu]", "precision[neu]"], entries)
    assert found["macro_f1"].value == pytest.approx((0.5 + 0.0 + 2 / 3) / 3)
    assert found["macro_precision"].value == pytest.approx((0.5 + 0.0 + 0.5) / 3)
    assert found["f1[neu]"].value == 0.0
    # Of a class without predictions nothing can be precise: undefined with a reason, never 1.
    assert found["precision[neu]"].value is None
    assert found["precision[neu]"].reason == "'neu' was never predicted"


def test_q02_a_class_that_the_answers_do_not_have_is_left_out_of_averages_and_undefined_alone():
    entries = three_classes(["neg", "neg", "pos", "pos"], ["neg", "pos", "pos", "pos"])
    found = evaluate(["macro_f1", "macro_recall", "f1[neu]", "recall[neu]"], entries)
    assert found["macro_f1"].value == pytest.approx((2 / 3 + 0.8) / 2)  # not (2/3 + 1 + 0.8) / 3
    assert found["macro_recall"].value == pytest.approx((0.5 + 1.0) / 2)
    for name in ("f1[neu]", "recall[neu]"):
        assert found[name].value is None and "neu" in found[name].reason


def test_q02_an_undefined_metric_is_null_with_its_reason_in_the_quality_file(recorded):
    campaign = recorded(protocol={"metric": "mcc", "subgroups": ["label"], "minimum": 0.5})
    campaign.add_option("b1", STEADY)
    _, found = quality_of(campaign)
    assert found["metrics"]["mcc"] > 0.8
    # Within a class every answer is the same, so a correlation is undefined, not perfect.
    assert {one["verdict"] for one in found["subgroups"]} == {"undefined"}
    assert all(one["value_of_metric"] is None and one["undefined"] for one in found["subgroups"])


# Q03: labels are text, and both sides' names are said where they differ.


@pytest.fixture
def labels_checked(tmp_path):
    """Return a function that compares reference answers with the labels of a model."""

    def check(answers, model_labels):
        ids = [f"e{number}" for number in range(len(answers))]
        table = {"id": pa.array(ids), "label": pa.array(answers, pa.large_string())}
        pq.write_table(pa.table(table), tmp_path / "reference.parquet")
        write_json(tmp_path / "model.json", {"labels": model_labels})
        files = [tmp_path / name for name in ("reference.parquet", "model.json", "labels.json")]
        return check_labels(*files)

    return check


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_q03_labels_written_as_numbers_are_the_models_labels(read, write, labels_checked, kind):
    texts = [f"text {number}" for number in range(3)]
    name, numbers = f"corpus.{kind}", [0, 1, 1]
    columns = {"id": ["a", "b", "c"], "text": texts, "label": numbers}
    if kind in ("parquet", "arrow"):
        table = pa.table(columns)
        path = write(name, b"")
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as sink:
                sink.write_table(table)
    else:
        rows = list(zip(*columns.values(), strict=True))
        if kind == "jsonl":
            lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
        else:
            mark = {"csv": ",", "tsv": "\t"}[kind]
            lines = [mark.join(map(str, row)) for row in [tuple(columns), *rows]]
        path = write(name, "\n".join(lines) + "\n")
    entries, _ = read(path)
    assert [one["label"] for one in entries] == ["0", "1", "1"]
    assert labels_checked([one["label"] for one in entries], ["0", "1"])["unused_labels"] == []


@pytest.mark.parametrize(
    ("answers", "model_labels", "near"),
    [
        (["0", "1", "1"], ["0.0", "1.0"], None),
        (["Positive", "negative"], ["negative", "positive"], "did you mean 'positive'?"),
        (["0", "1", "other"], ["1", "2"], None),
    ],
)
def test_q03_answers_of_another_spelling_are_refused_with_both_sides(
    labels_checked, answers, model_labels, near
):
    with pytest.raises(AtparError) as caught:
        labels_checked(answers, model_labels)
    message = str(caught.value)
    assert f"label {answers[0]!r} (id 'e0') is none of the model's labels" in message
    assert f"which are {', '.join(map(repr, model_labels))}" in message
    assert f"The corpus has {', '.join(map(repr, sorted(set(answers))))}." in message
    assert "corpus.label_map" in message
    assert near is None or near in message


def test_q03_of_many_labels_the_first_are_named(labels_checked):
    with pytest.raises(AtparError, match=r"'l00', .* 'l07' and 92 more; did you mean 'l"):
        labels_checked(["l0"], [f"l{number:02}" for number in range(100)])


def test_q03_predictions_are_compared_as_the_names_of_labels(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    _, found = quality_of(campaign)
    assert found["metrics"]["accuracy"] == pytest.approx(0.9)


# Q07: small, empty and nameless subgroups are said for what they are.


def regions(**counts):
    values = [value for value, count in counts.items() for _ in range(count)]
    return values + ["a"] * (200 - len(values))


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_q07_each_group_is_listed_with_its_size_and_small_ones_are_insufficient(recorded, blank):
    values = [blank if one == "blank" else one for one in regions(b=1, blank=2, d=30)]
    campaign = recorded(
        protocol={"subgroups": ["region"], "subgroup_values": {"region": ["a", "b", "c"]}},
        columns={"region": values},
    )
    campaign.add_option("b1", STEADY)
    document, found = quality_of(campaign)
    assert {one["value"]: (one["entries"], one["verdict"]) for one in found["subgroups"]} == {
        "a": (167, "accepted"),
        "b": (1, "insufficient"),
        "c": (0, "insufficient"),  # declared, and absent
        "d": (30, "accepted"),
        "(no value)": (2, "insufficient"),
    }
    (empty,) = [one for one in found["subgroups"] if one["value"] == "c"]
    assert empty["value_of_metric"] is None and "0 entries" in empty["reason"]
    # Neither passed nor failed: the verdict rests on those that could be judged.
    assert document["option"]["verdict"] == "accepted"


@pytest.mark.parametrize("row", [0, 1, 2])
def test_q07_a_row_that_leaves_the_subgroup_out_has_no_value(read, write, row):
    lines = [{"id": one, "text": "t", "label": "x", "region": "a"} for one in "012"]
    del lines[row]["region"]
    path = write("corpus.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    entries, _ = read(path, columns={"subgroups": ["region"]})
    assert [one["region"] for one in entries] == [None if n == row else "a" for n in range(3)]


def test_q07_a_column_that_is_not_there_is_refused_and_a_misspelt_one_is_named(recorded):
    campaign = recorded(protocol={"subgroups": ["regoin"]}, columns={"region": regions(b=1)})
    campaign.add_option("b1", STEADY)
    with pytest.raises(AtparError, match=r"no column 'regoin'.*region"):
        campaign.judge()
    with pytest.raises(ValueError, match="subgroup_values names the column 'regoin'"):
        Protocol(
            tolerance={"reference": "b1"},
            subgroups=["region"],
            subgroup_values={"regoin": ["a"]},
        )


# Q08: a class with a single row isn't lost in the draw.


def drawn(split, path, tokenizer, entries, **rule):
    """Return the labels of the evaluation entries, and the fingerprint."""
    sample = {"buckets": [{"name": "all", "up_to_tokens": None, "entries": entries}], **rule}
    found, facts = split(path, tokenizer=tokenizer(["word", "[UNK]"]), sample=sample)
    return sorted(one["label"] for one in found if one["split"] == "evaluation"), facts


def labelled(write, encoded, labels, kind):
    rows = [{"id": f"e{n}", "text": "word", "label": label} for n, label in enumerate(labels)]
    return write(f"corpus.{kind}", encoded(rows, kind))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_q08_a_class_of_one_row_has_its_place_in_the_sample(split, write, encoded, tokenizer, kind):
    labels, facts = drawn(split, labelled(write, encoded, "aaabbc", kind), tokenizer, 3)
    assert labels == ["a", "b", "c"]
    assert facts["class_counts"] == {"all": {"a": 1, "b": 1, "c": 1}}


def test_q08_a_class_too_rare_for_its_share_is_kept_and_named(split, write, encoded, tokenizer):
    path = labelled(write, encoded, "a" * 70 + "b" * 29 + "c", "csv")
    labels, facts = drawn(split, path, tokenizer, 10)
    assert (labels.count("a"), labels.count("b"), labels.count("c")) == (6, 3, 1)
    assert facts["rare_classes"] == [
        {"bucket": "all", "label": "c", "available": 1, "share": 0.1, "drawn": 1}
    ]
    assert any("c in all (1)" in note for note in facts["notes"])


def test_q08_without_room_the_draw_is_refused_and_the_way_out_is_named(
    split, write, encoded, tokenizer
):
    path = labelled(write, encoded, "abcdef", "csv")
    with pytest.raises(AtparError, match=r"no place for '.*rare_classes: leave_out"):
        drawn(split, path, tokenizer, 3)
    labels, facts = drawn(split, path, tokenizer, 3, rare_classes="leave_out")
    assert len(labels) == 3
    assert [one["drawn"] for one in facts["rare_classes"]] == [0, 0, 0]
