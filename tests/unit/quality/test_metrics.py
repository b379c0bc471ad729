"""Metrics by name equal scikit-learn's on the entries themselves; undefined is null, not 0."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from atpar.config.protocol import CLASS_METRICS, METRICS, Protocol, metric_answers
from atpar.errors import AtparError
from atpar.quality.interval import difference_interval
from atpar.quality.metrics import CALIBRATION_BINS, Entries, evaluate, metric
from atpar.quality.own import check_own_metrics

LABELS = ["a", "b", "c", "d"]


def entries(reference, predicted, **more):
    return Entries(LABELS, np.array(predicted, np.int32), np.array(reference, np.int32), **more)


def sample(seed, size=300, classes=4):
    """Return reference and predicted codes that agree three times in four."""
    generator = np.random.default_rng(seed)
    reference = generator.integers(0, classes, size)
    predicted = np.where(
        generator.random(size) < 0.75, reference, generator.integers(0, classes, size)
    )
    return reference, predicted


DIRECT = {
    "accuracy": lambda t, p, _: sk.accuracy_score(t, p),
    "balanced_accuracy": lambda t, p, _: sk.balanced_accuracy_score(t, p),
    "macro_f1": lambda t, p, present: sk.f1_score(t, p, average="macro", labels=present),
    "weighted_f1": lambda t, p, _: sk.f1_score(t, p, average="weighted"),
    "macro_precision": lambda t, p, present: sk.precision_score(
        t, p, average="macro", labels=present, zero_division=0
    ),
    "macro_recall": lambda t, p, present: sk.recall_score(t, p, average="macro", labels=present),
    "mcc": lambda t, p, _: sk.matthews_corrcoef(t, p),
    "f1[b]": lambda t, p, _: sk.f1_score(t == 1, p == 1),
    "precision[b]": lambda t, p, _: sk.precision_score(t == 1, p == 1),
    "recall[b]": lambda t, p, _: sk.recall_score(t == 1, p == 1),
}


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_counts_give_what_the_entries_give(name, classes):
    reference, predicted = sample(7, classes=classes)
    expected = DIRECT[name](reference, predicted, np.unique(reference))
    assert metric(name, entries(reference, predicted)).value == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_every_metric_is_defined_or_says_why(pairs):
    reference, predicted = zip(*pairs, strict=True)
    found = evaluate([*DIRECT, "agreement"], entries(reference, predicted))
    for name, value in found.items():
        assert (value.value is None) == (value.reason is not None), name
        assert value.value is None or np.isfinite(value.value)


def test_all_named_metrics_can_be_computed():
    reference, predicted = sample(3)
    scores = np.full((len(reference), 4), 0.1, np.float32)
    scores[np.arange(len(predicted)), predicted] = 0.7
    given_ = entries(
        reference,
        predicted,
        own_score=scores[np.arange(len(reference)), reference],
        top_score=scores.max(axis=1),
        other=entries(reference, reference),
    )
    names = [name for name in METRICS if "single" in metric_answers(name)]
    names += [f"{one}[a]" for one in CLASS_METRICS]
    Protocol.model_validate({"tolerance": {"reference": "b1"}, "metrics": names})
    assert all(value.value is not None for value in evaluate(names, given_).values())


def test_log_loss_is_scikit_learns():
    reference, predicted = sample(5)
    generator = np.random.default_rng(5)
    scores = generator.dirichlet(np.ones(4), len(reference)).astype(np.float32)
    scores[0] = [0, 0.5, 0.5, 0]
    reference[0] = 0  # a score of exactly 0 for the answer
    own = scores[np.arange(len(reference)), reference]
    found = metric("neg_log_loss", entries(reference, predicted, own_score=own))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # float32 rows sum to 1 within 1e-7
        expected = -sk.log_loss(reference, scores, labels=[0, 1, 2, 3])
    assert found.value == pytest.approx(expected, rel=1e-5)


def test_calibration_error_by_hand():
    # Two in the bin of 0.9, one of them right: |0.5 - 0.9|; one sure and right in the last bin.
    found = metric(
        "neg_calibration_error",
        entries([0, 0, 1], [0, 1, 1], top_score=np.array([0.9, 0.9, 1.0], np.float32)),
    )
    assert CALIBRATION_BINS == 15
    assert found.value == pytest.approx(-(2 * 0.4 + 0.0) / 3, abs=1e-6)


def test_a_class_that_is_predicted_and_never_asked_leaves_the_denominator_alone():
    # Reference answers hold a and b; one entry is taken for c. Macro over a and b: (2/3 + 1) / 2.
    found = metric("macro_f1", entries([0, 0, 1], [0, 2, 1]))
    assert found.value == pytest.approx((2 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("name", "reference", "predicted", "word"),
    [
        ("f1[d]", [0, 1], [0, 1], "no entry's reference answer"),
        ("recall[d]", [0, 1], [0, 3], "no entry's reference answer"),
        ("precision[b]", [0, 1], [0, 0], "never predicted"),
        ("mcc", [0, 0], [0, 1], "single class"),
        ("mcc", [0, 1], [0, 0], "single class"),
        ("agreement", [0, 1], [0, 1], "no complete pass"),
        ("neg_log_loss", [0, 1], [0, 1], "no scores"),
    ],
)
def test_an_undefined_metric_is_null_with_its_reason(name, reference, predicted, word):
    found = metric(name, entries(reference, predicted))
    assert found.value is None
    assert word in found.reason


def test_no_entries_and_no_answers_are_undefined():
    assert metric("accuracy", entries([], [])).reason == "no entries"
    unlabelled = Entries(LABELS, np.array([0, 1], np.int32))
    assert "no reference answers" in metric("accuracy", unlabelled).reason


def test_a_class_f1_of_zero_is_zero():
    assert metric("f1[b]", entries([1, 1], [0, 0])).value == 0.0


def test_an_unknown_class_is_refused():
    with pytest.raises(AtparError, match="no label 'z'"):
        metric("f1[z]", entries([0], [0]))


def test_agreement_counts_equal_labels():
    found = metric("agreement", entries([0, 1], [2, 1], other=entries([0, 1], [2, 3])))
    assert found.value == 0.5


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "my_metric.py").write_text(
        "def mean_score(reference, predicted, scores, labels):\n"
        "    return float((scores.max(axis=1) * (reference == predicted)).mean())\n"
        "def nothing(*given):\n    return None\n"
        "def broken(*given):\n    raise ValueError('no such thing')\n"
        "def rare(reference, *given):\n"
        "    if 'b' not in list(reference):\n        raise ValueError('no b')\n    return 1.0\n"
    )
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("my_metric", None)
    sys.path.remove(str(tmp_path)) if str(tmp_path) in sys.path else None


@pytest.mark.usefixtures("own_module")
def test_a_metric_of_the_users_own():
    scores = np.array([[0.75, 0.25, 0, 0], [0.5, 0.5, 0, 0]], np.float32)
    given_ = entries([0, 1], [0, 0], scores=lambda: scores)
    assert metric("my_metric:mean_score", given_).value == pytest.approx(0.375)
    # A part of the entries has its own scores.
    assert metric("my_metric:mean_score", given_.part(np.array([0]))).value == pytest.approx(0.75)


@pytest.mark.usefixtures("own_module")
def test_an_own_metric_may_be_undefined_and_its_faults_are_named():
    given_ = entries([0], [0], scores=lambda: np.ones((1, 4), np.float32))
    assert metric("my_metric:nothing", given_).value is None
    with pytest.raises(AtparError, match="my_metric:broken: ValueError: no such thing"):
        metric("my_metric:broken", given_)
    with pytest.raises(AtparError, match="my_metric:absent"):
        metric("my_metric:absent", given_)
    with pytest.raises(AtparError, match="no_such_module"):
        metric("no_such_module:f", given_)


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"AttributeError: .*has no attribute 'score'; it must be `module:function`"),
        ("def score(:", "SyntaxError: "),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("score = 0.5", "score is float, expected a function"),
    ],
)
def test_an_own_metric_that_cannot_be_called_is_refused_before_any_pass(tmp_path, content, message):
    (tmp_path / "other_metric.py").write_text(content)
    try:
        with pytest.raises(AtparError, match=f"metric other_metric:score: {message}"):
            check_own_metrics(["accuracy", "f1[a:b]", "my_metric:rare", "other_metric:score"])
    finally:
        sys.modules.pop("other_metric", None)
    check_own_metrics(["accuracy", "f1[a:b]", "my_metric:rare"])


@pytest.mark.usefixtures("own_module")
def test_an_own_metric_that_does_not_bear_a_draw_has_no_interval():
    given_ = entries([0] * 9 + [1], [0] * 10, other=entries([0] * 9 + [1], [0] * 10))
    assert metric("my_metric:rare", given_).value == 1.0
    found = difference_interval("my_metric:rare", given_, seed=0)
    assert (found["low"], found["high"]) == (None, None)
    assert "of entries drawn again: metric my_metric:rare: ValueError: no b" in found["reason"]


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_the_intervals_statistic_is_the_metric(name):
    """With one kind of entry drawn exactly as often as it occurs, both must agree."""
    from atpar.quality import interval

    reference, predicted = sample(11)
    codes, counts = np.unique(reference * 4 + predicted, return_counts=True)
    statistic = interval._statistic(name, entries(reference, predicted))
    found = statistic(counts[None, :], codes // 4, codes % 4, 4)[0]
    assert found == pytest.approx(metric(name, entries(reference, predicted)).value, abs=1e-12)


def test_the_interval_is_that_of_an_ordinary_paired_bootstrap():
    from scipy import stats

    reference, other = sample(1, size=400)
    _, predicted = sample(2, size=400)
    predicted = np.where(np.arange(400) % 3 == 0, predicted, other)
    found = difference_interval(
        "accuracy", entries(reference, predicted, other=entries(reference, other)), seed=0
    )
    right, before = predicted == reference, other == reference
    expected = stats.bootstrap(
        (right.astype(float) - before.astype(float),), np.mean, method="percentile", rng=0
    ).confidence_interval
    assert found["low"] == pytest.approx(expected.low, abs=0.01)
    assert found["high"] == pytest.approx(expected.high, abs=0.01)
    assert found["low"] <= (right.mean() - before.mean()) <= found["high"]


def test_equal_predictions_have_an_interval_of_no_width():
    reference, predicted = sample(4)
    found = difference_interval(
        "macro_f1", entries(reference, predicted, other=entries(reference, predicted)), seed=0
    )
    assert (found["low"], found["high"]) == (0.0, 0.0)


def test_without_reference_pass_there_is_no_interval():
    found = difference_interval("accuracy", entries([0], [0]), seed=0)
    assert found["low"] is None and "no reference pass" in found["reason"]
