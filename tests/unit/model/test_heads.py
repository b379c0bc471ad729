"""What a head's outputs mean, and which heads are refused before anything is measured (T10)."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.canonical import write_json
from atpar.errors import AtparError
from atpar.model.fits import check_protocol
from atpar.model.heads import Head, head_kind, logistic, read_head
from atpar.model.labels import check_labels

REGRESSION = Head("regression", ("stars",))
BINARY = Head("binary", ("neg", "pos"))
TAGS = Head("multi_label", ("a", "b", "c"), 0.4)


@pytest.mark.parametrize(
    ("problem", "outputs", "stated", "labels", "kind"),
    [
        (None, 2, None, None, "single_label"),
        ("single_label_classification", 5, None, None, "single_label"),
        ("multi_label_classification", 5, None, None, "multi_label"),
        (None, 5, "multi_label", None, "multi_label"),
        ("regression", 1, None, None, "regression"),
        (None, 1, "regression", None, "regression"),
        (None, 1, "binary", ["no", "yes"], "binary"),
        ("single_label_classification", 1, "binary", ["no", "yes"], "binary"),
        ("multi_label_classification", 1, "binary", ["no", "yes"], "binary"),
        ("multi_label_classification", 1, None, None, "multi_label"),
    ],
)
def test_the_head_is_what_config_and_configuration_say(problem, outputs, stated, labels, kind):
    assert head_kind(problem, outputs, stated, labels, "m/config.json") == kind


@pytest.mark.parametrize(
    ("problem", "outputs", "stated", "labels", "said"),
    [
        (None, 1, None, None, "1 output, and nothing says what it means.*`binary`.*`regression`"),
        ("single_label_classification", 1, None, None, "1 output, and nothing says"),
        (None, 1, "single_label", None, "largest of one score.*`binary`"),
        ("regression", 3, None, None, "3 outputs, but regression means one output"),
        (None, 2, "binary", ["no", "yes"], "2 outputs, but binary means one output"),
        (None, 1, "binary", None, "two names under model.labels"),
        (None, 1, "binary", ["yes"], "two names under model.labels"),
        ("regression", 1, "binary", ["no", "yes"], "'regression', but model.head says 'binary'"),
        ("multi_label_classification", 3, "single_label", None, "put right the one"),
    ],
)
def test_a_head_that_cannot_be_judged_is_refused(problem, outputs, stated, labels, said):
    with pytest.raises(AtparError, match="^m/config.json: .*" + said):
        head_kind(problem, outputs, stated, labels, "m/config.json")


def test_one_output_is_two_labels_with_scores_that_sum_to_one():
    scores = BINARY.scores(np.array([[0.0], [2.0], [-40.0], [np.nan], [np.inf]], np.float32))
    np.testing.assert_allclose(scores[:3, 1], [0.5, 1 / (1 + np.exp(-2)), 0], atol=1e-7)
    np.testing.assert_allclose(scores[:3].sum(axis=1), 1)
    assert np.isnan(scores[3:]).all()
    # Half is enough: equality counts.
    assert BINARY.column(scores).to_pylist() == ["pos", "pos", "neg", None, None]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_logit_that_is_not_finite_rules_no_class_out(odd):
    head = Head("single_label", ("a", "b"))
    scores = head.scores(np.array([[odd, 3.0], [odd, odd], [0.0, 3.0]], np.float32))
    assert np.isnan(scores[:2]).all()
    assert head.column(scores).to_pylist() == [None, None, "b"]


def test_several_labels_are_those_that_reach_the_threshold():
    logits = np.log([[0.4 / 0.6, 0.39 / 0.61, 9.0], [0.1, 0.1, 0.1], [np.nan, 9.0, 9.0]])
    scores = TAGS.scores(logits)
    assert TAGS.column(scores).to_pylist() == [["a", "c"], [], None]
    assert TAGS.column(scores).type == TAGS.column_type() == pa.list_(pa.string())


def test_a_number_is_the_output_itself():
    scores = REGRESSION.scores(np.array([[3.25], [-1.0], [np.inf]]))
    assert REGRESSION.column(scores).to_pylist() == [3.25, -1.0, None]
    assert REGRESSION.column(scores).type == REGRESSION.column_type() == pa.float32()


@given(st.floats(-200, 200, width=32))
def test_the_logistic_function_never_overflows(logit):
    with np.errstate(all="raise", under="ignore"):
        chance = logistic(np.array([[logit]], np.float32))
        other = logistic(np.array([[-logit]], np.float32))
    assert chance + other == pytest.approx(1, abs=1e-6)
    if abs(logit) > 1e-6:
        assert (chance >= 0.5) == (logit >= 0)


def test_the_sealed_threshold_is_the_one_that_is_applied(tmp_path):
    write_json(tmp_path / "labels.json", {"labels": ["a", "b"], "head": "multi_label"})
    head = read_head(tmp_path / "labels.json", {"label_threshold": 0.7})
    assert head.predicted(np.array([[0.69, 0.7]], np.float32)).tolist() == [[False, True]]
    write_json(tmp_path / "labels.json", {"labels": ["a", "b"]})
    assert read_head(tmp_path / "labels.json", {}) == Head("single_label", ("a", "b"), 0.5)


@pytest.fixture
def one_output(bert, edit):
    """The small model with a single output, as regression and binary heads are saved."""
    from safetensors.torch import load_file, save_file

    weights = load_file(bert / "model.safetensors")
    for name in ("classifier.weight", "classifier.bias"):
        weights[name] = weights[name][:1].clone()
    save_file(weights, bert / "model.safetensors", metadata={"format": "pt"})
    edit(bert / "config.json", id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0})
    return bert


def test_a_model_of_one_output_is_checked_as_what_it_is(check, one_output, edit):
    with pytest.raises(AtparError, match="nothing says what it means"):
        check(one_output)
    binary = check(one_output, head="binary", labels=["down", "up"])[1]
    assert (binary["head"], binary["labels"]) == ("binary", ["down", "up"])
    number = check(one_output, head="regression", labels=["stars"])[1]
    assert (number["head"], number["labels"]) == ("regression", ["stars"])
    assert number["model_digest"] != binary["model_digest"]
    edit(one_output / "config.json", problem_type="regression")
    assert check(one_output)[1]["head"] == "regression"


def test_a_multi_label_model_is_known_by_its_configuration(check, bert, edit):
    single = check(bert)[1]
    edit(bert / "config.json", problem_type="multi_label_classification")
    assert check(bert)[1]["head"] == "multi_label"
    edit(bert / "config.json", problem_type=None)
    assert check(bert)[1]["head"] == single["head"] == "single_label"


@pytest.fixture
def fitting(tmp_path):
    """Return a function that checks answers and protocol against a model's head."""

    def run(answers, head, labels, kind=None, columns=None, **protocol):
        ids = [f"e{n}" for n in range(len(answers))]
        table = {"id": ids, "label": pa.array(answers, pa.large_string()), "bucket": ids}
        reference = tmp_path / "reference.parquet"
        pq.write_table(pa.table({**table, **(columns or {})}), reference)
        fingerprint = tmp_path / "fingerprint.json"
        write_json(fingerprint, {"labels": labels, "head": head})
        kind = kind or {"multi_label": "multiple", "regression": "number"}.get(head, "single")
        content = check_labels(reference, fingerprint, tmp_path / "labels.json", kind)
        asked = {
            "metric": "agreement",
            "metrics": [],
            "subgroups": ["bucket"],
            "deliverables": ["corpus"],
            "deliverable_column": None,
        }
        check_protocol(reference, fingerprint, {**asked, **protocol})
        return content

    return run


def sets(*answers):
    return [json.dumps(one) for one in answers]


def test_labels_of_every_head_are_written_for_the_passes(fitting):
    tags = fitting(sets(["a"], ["c", "a"], []), "multi_label", ["a", "b", "c"], metric="macro_f1")
    assert (tags["head"], tags["reference_labels"]) == ("multi_label", ["a", "c"])
    assert tags["unused_labels"] == ["b"]
    number = fitting(["1.5", "-3"], "regression", ["stars"], metric="r2")
    assert (number["head"], number["labels"]) == ("regression", ["stars"])
    assert fitting(["no"], "binary", ["no", "yes"], metric="mcc")["head"] == "binary"


@pytest.mark.parametrize(
    ("answers", "head", "kind", "said"),
    [
        (["a"], "multi_label", "single", "head is multi_label.*one label each.*'multiple'"),
        (["1.5"], "single_label", "number", "an answer is one label.*a number each"),
        (["a"], "regression", "single", "an answer is a number"),
        (sets(["a"], ["b", "d"]), "multi_label", "multiple", "label 'd' .id 'e1'.*none of the"),
        (["a", None], "single_label", "single", "'e1' has no reference answer"),
    ],
)
def test_answers_that_the_model_cannot_give_are_refused(fitting, answers, head, kind, said):
    labels = ["stars"] if head == "regression" else ["a", "b", "c"]
    with pytest.raises(AtparError, match=said):
        fitting(answers, head, labels, kind)


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ({"metric": "f1[z]"}, r"protocol.metric: f1\[z\] is of a label that the model doesn't"),
        ({"metric": "accuracy", "metrics": ["recall[A]"]}, "protocol.metrics: .*known: a, b, c"),
        ({"metric": "f1[c]"}, "would be undefined for every pass.*answer 'c'"),
        ({"metric": "neg_mae"}, "neg_mae isn't defined where an answer is one label"),
        ({"metric": "samples_f1"}, "samples_f1 isn't defined.*take accuracy"),
        ({"subgroups": ["bucket", "languag"]}, "'languag'.*did you mean 'language'"),
        (
            {"deliverable_column": "language", "deliverables": ["en", "fr"]},
            "no entry of the evaluation corpus has 'fr'",
        ),
        ({"deliverable_column": "language", "deliverables": ["en"]}, "value 'de', which is no"),
    ],
)
def test_a_protocol_that_cannot_be_applied_is_refused_before_any_pass(fitting, protocol, said):
    columns = {"language": ["en", "de"]}
    with pytest.raises(AtparError, match=said):
        fitting(["a", "b"], "single_label", ["a", "b", "c"], columns=columns, **protocol)


def test_a_protocol_that_fits_is_let_through(fitting):
    columns = {"language": ["en", "de"]}
    both = {"deliverable_column": "language", "deliverables": ["en", "de"]}
    names = {"metric": "f1[b]", "metrics": ["recall[c]", "my_metric:mean"]}
    given_ = {**both, **names, "subgroups": ["label", "language"]}
    fitting(["a", "b"], "single_label", ["a", "b", "c"], columns=columns, **given_)


def test_without_answers_only_agreement_can_be_judged(fitting):
    assert fitting([None, None], "single_label", ["a", "b"])["reference_labels"] == []
    with pytest.raises(AtparError, match=r"no reference answers.*agreement"):
        fitting([None, None], "single_label", ["a", "b"], metric="accuracy")


def test_numbers_have_no_subgroup_by_label(fitting):
    with pytest.raises(AtparError, match="almost each would be a subgroup"):
        fitting(["1", "2"], "regression", ["stars"], metric="r2", subgroups=["label"])
