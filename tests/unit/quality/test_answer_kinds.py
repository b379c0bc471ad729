"""Multi-label, regression and binary heads from a real pass to the verdict."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sklearn import metrics as sk

from atpar.canonical import file_digest, read_json, write_json
from atpar.config.protocol import METRIC_ANSWERS, Protocol
from atpar.model.heads import Head
from atpar.quality.check import check_option, check_pass
from atpar.quality.evaluate import evaluate_option
from atpar.quality.interval import difference_interval
from atpar.quality.metrics import Entries, metric
from atpar.quality.resample import DRAWN, DRAWN_ANEW, RESAMPLES, resamples

TAGS = ["sweet", "round", "sharp"]
KINDS = {
    "multi_label": {"problem_type": "multi_label_classification", "names": TAGS},
    "binary": {"names": ["LABEL_0"], "labels": ["fruit", "tool"]},
    "regression": {"problem_type": "regression", "names": ["size"]},
}
ASKED = {
    "multi_label": {
        "metric": "micro_f1",
        "metrics": ["accuracy", "samples_f1", "f1[round]"],
        "subgroup_values": {"label": ["round", "bitter"]},
    },
    "binary": {"metric": "accuracy", "metrics": ["mcc", "neg_log_loss"]},
    "regression": {"metric": "neg_mae", "metrics": ["r2", "spearman"], "minimum": -0.5},
}
THRESHOLD = 0.45


class Chain:
    """A campaign of one kind of head: measured, then checked and judged."""

    def __init__(self, campaign, kind):
        self.campaign, self.kind = campaign, kind
        facts = KINDS[kind]
        names = dict(enumerate(facts["names"]))
        options = {"problem_type": facts["problem_type"]} if "problem_type" in facts else {}
        label2id = {name: index for index, name in names.items()}
        campaign.write_model(id2label=names, label2id=label2id, **options)
        campaign.fingerprint()
        labels = facts.get("labels", facts["names"])
        self.path = campaign.results / "model/fingerprint.json"
        write_json(self.path, {**read_json(self.path), "labels": labels, "head": kind})
        write_json(campaign.results / "model/labels.json", {"labels": labels, "head": kind})
        asked = {"tolerance": {"reference": "b4"}, "label_threshold": THRESHOLD, **ASKED[kind]}
        asked = {"subgroups": ["bucket", "label"], **asked}
        if kind == "regression":
            asked["subgroups"] = ["bucket"]
        self.protocol = Protocol.model_validate(asked).model_dump(mode="json")
        campaign.protocol = {**campaign.protocol, "label_threshold": THRESHOLD}
        seal = {"digest": "s" * 64, "sealed": {"protocol": self.protocol}}
        write_json(campaign.results / "protocol/seal.json", seal)

    def logits(self):
        """Return what the model itself says of each text, alone."""
        import torch
        from tokenizers import Tokenizer
        from transformers import AutoModelForSequenceClassification

        model = AutoModelForSequenceClassification.from_pretrained(self.campaign.model).eval()
        encoder = Tokenizer.from_file(str(self.campaign.results / "model/tokenizer.json"))
        encoder.enable_truncation(self.campaign.positions)
        texts = self.campaign.texts(self.campaign.entries)
        with torch.inference_mode():
            found = [model(torch.tensor([encoder.encode(one).ids])).logits[0] for one in texts]
        return torch.stack(found).numpy()

    def answer(self, predicted):
        """Write the reference table: what was predicted, spoilt for every fourth entry."""
        answers = [self.spoilt(one) if row % 4 == 0 else one for row, one in enumerate(predicted)]
        texts = [json.dumps(sorted(a)) if isinstance(a, list) else str(a) for a in answers]
        ids = [f"e{number:06d}" for number in range(len(texts))]
        buckets = ["short" if row < 20 else "long" for row in range(len(texts))]
        table = {"id": ids, "label": pa.array(texts, pa.large_string()), "bucket": buckets}
        self.reference = self.campaign.results / "corpus/reference.parquet"
        pq.write_table(pa.table(table), self.reference)
        return answers

    def spoilt(self, one):
        if isinstance(one, list):
            return sorted({*one} ^ {"round"})
        return one + 1 if self.kind == "regression" else {"fruit": "tool", "tool": "fruit"}[one]

    def judge(self):
        """Return the checks and the quality of the one pass."""
        results = self.campaign.results
        record, predictions = (
            results / "passes/here/b4/1.json",
            results / "predictions/here/b4/1.parquet",
        )
        checks, quality = results / "checks/b4.json", results / "quality/b4.json"
        seal, corpus = results / "protocol/seal.json", results / "corpus/fingerprint.json"
        check_option([record], [predictions], self.reference, self.path, corpus, seal, checks)
        evaluate_option(
            checks, [predictions], checks, [predictions], self.reference, self.path, quality,
            self.protocol,
        )  # fmt: skip
        return read_json(checks)["passes"][0], read_json(quality)["passes"][0]


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits.astype(np.float64)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pass_of_every_head_is_predicted_checked_and_judged(campaign, kind):
    chain = Chain(campaign, kind)
    record = campaign.measure("b4")
    assert record["status"] == "ok", record
    table = campaign.predictions("b4")
    predicted, scores = table["predicted"].to_pylist(), np.array(table["scores"].to_pylist())
    logits = chain.logits()
    if kind == "regression":
        np.testing.assert_allclose(scores, logits, atol=1e-4)
        np.testing.assert_allclose(predicted, logits[:, 0], atol=1e-4)
    elif kind == "binary":
        np.testing.assert_allclose(scores[:, 1], sigmoid(logits)[:, 0], atol=1e-5)
        assert predicted == ["tool" if one else "fruit" for one in scores[:, 1] >= THRESHOLD]
    else:
        np.testing.assert_allclose(scores, sigmoid(logits), atol=1e-5)
        assert predicted == [
            [tag for tag, score in zip(TAGS, row, strict=True) if score >= THRESHOLD]
            for row in scores
        ]
        assert len(set(map(len, predicted))) > 1, "the same number of labels for every text"
    answers = chain.answer(predicted)
    checks, quality = chain.judge()
    assert checks["passed"], checks["problems"]
    values = quality["metrics"]
    assert values["agreement"] == 1.0 and quality["changed_labels"] == 0
    if kind == "regression":
        assert values["neg_mae"] == pytest.approx(-0.25, abs=1e-6)
        assert values["spearman"] == pytest.approx(stats.spearmanr(answers, predicted).statistic)
        assert quality["verdict"] == "accepted"
    else:
        assert values["accuracy"] == 0.75
    if kind == "multi_label":
        flags = [[[tag in one for tag in TAGS] for one in rows] for rows in (answers, predicted)]
        assert values["micro_f1"] == pytest.approx(sk.f1_score(*flags, average="micro"))
        groups = {one["value"]: one["entries"] for one in quality["subgroups"]}
        assert groups["round"] == sum("round" in one for one in answers)
        # Declared, and absent.
        assert groups["bitter"] == 0
    assert (quality["interval"]["low"], quality["interval"]["high"]) == (0.0, 0.0)


def broken_case(kind, name):
    """Return a head, a prediction table, and the check that must fail."""
    if kind == "multi_label":
        head = Head("multi_label", tuple(TAGS), THRESHOLD)
        scores = np.array([[0.9, 0.1, 0.1], [0.45, 0.44, 0.8]], np.float32)
        predicted, column = [["sweet"], ["sweet", "sharp"]], pa.list_(pa.string())
    elif kind == "binary":
        head = Head("binary", ("fruit", "tool"), THRESHOLD)
        scores = np.array([[0.55, 0.45], [0.9, 0.1]], np.float32)
        predicted, column = ["tool", "fruit"], pa.string()
    else:
        head = Head("regression", ("size",))
        scores = np.array([[1.5], [-2.0]], np.float32)
        predicted, column = [1.5, -2.0], pa.float32()
    other = {"multi_label": ["sharp"], "binary": "fruit", "regression": 1.25}[kind]
    unknown = {"multi_label": ["sweet", "salt"], "binary": "weather", "regression": None}[kind]
    if name == "scores_argmax":
        predicted[0] = other
    if name == "labels":
        predicted[0] = unknown
    if name == "scores_finite":
        scores[1] = np.nan
    if name == "format":
        column = pa.string() if kind != "binary" else pa.list_(pa.string())
        predicted = [["x"], ["y"]] if kind == "binary" else ["1", "2"]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), scores.shape[1])
    table = pa.table({"id": ["a", "b"], "predicted": pa.array(predicted, column), "scores": lists})
    return head, table.replace_schema_metadata({"labels": json.dumps(head.labels)})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "failed", [None, "scores_argmax", "labels", "scores_finite", "format"], ids=str
)
def test_each_fault_of_each_head_fails_its_own_check(tmp_path, kind, failed):
    head, table = broken_case(kind, failed)
    path = tmp_path / "predictions.parquet"
    pq.write_table(table, path)
    digests = {"evaluation_digest": "e", "model_digest": "m", "seal_digest": "s"}
    record = {
        **digests,
        "status": "ok",
        "entries_expected": 2,
        "entries_completed": 2,
        "predictions_digest": file_digest(path),
    }
    found = check_pass(record, path, pa.array(["a", "b"], pa.large_string()), head, digests)
    assert found["failed"] == ([failed] if failed else [])
    if failed == "scores_argmax":
        assert "a (row 1" in found["problems"][0]


def flags(seed, size=300):
    """Return reference and predicted flags of three labels that mostly agree."""
    generator = np.random.default_rng(seed)
    reference = generator.random((size, 3)) < [0.5, 0.2, 0.05]
    return reference, reference ^ (generator.random((size, 3)) < 0.15)


def numbers(seed, size=300):
    generator = np.random.default_rng(seed)
    reference = generator.normal(50, 3, size)
    return reference, (reference + generator.normal(0, 1.5, size)).astype(np.float32)


def several(reference, predicted, **more):
    return Entries(TAGS, predicted, reference, answer="multiple", **more)


def valued(reference, predicted, **more):
    return Entries(["size"], predicted, reference, answer="number", **more)


OF_SETS = {
    "accuracy": lambda t, p: sk.accuracy_score(t, p),
    "neg_hamming_loss": lambda t, p: -sk.hamming_loss(t, p),
    "samples_f1": lambda t, p: sk.f1_score(t, p, average="samples", zero_division=1.0),
    "f1[round]": lambda t, p: sk.f1_score(t[:, 1], p[:, 1]),
    "precision[round]": lambda t, p: sk.precision_score(t[:, 1], p[:, 1]),
    "recall[round]": lambda t, p: sk.recall_score(t[:, 1], p[:, 1]),
    **{
        f"{average}_{kind}": lambda t, p, average=average, function=function: function(
            t, p, average=average
        )
        for kind, function in (
            ("f1", sk.f1_score),
            ("precision", sk.precision_score),
            ("recall", sk.recall_score),
        )
        for average in ("micro", "macro")
    },
    "weighted_f1": lambda t, p: sk.f1_score(t, p, average="weighted"),
}
OF_NUMBERS = {
    "neg_mae": lambda t, p: -sk.mean_absolute_error(t, p),
    "neg_rmse": lambda t, p: -np.sqrt(sk.mean_squared_error(t, p)),
    "r2": sk.r2_score,
    "pearson": lambda t, p: np.corrcoef(t, p)[0, 1],
    "spearman": lambda t, p: np.corrcoef(stats.rankdata(t), stats.rankdata(p))[0, 1],
}


def test_every_metric_has_its_value_in_a_test():
    of_class = {"f1[round]", "precision[round]", "recall[round]"}
    named = {name for name, answers in METRIC_ANSWERS.items() if "multiple" in answers}
    assert {*OF_SETS} - of_class == named - {"agreement", "neg_log_loss"}
    named = {name for name, answers in METRIC_ANSWERS.items() if "number" in answers}
    assert {*OF_NUMBERS} == named - {"agreement"}


@pytest.mark.parametrize("name", OF_SETS)
def test_metrics_of_several_labels(name):
    reference, predicted = flags(1)
    expected = OF_SETS[name](reference, predicted)
    assert metric(name, several(reference, predicted)).value == pytest.approx(expected)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_metrics_of_numbers(name):
    reference, predicted = numbers(1)
    expected = OF_NUMBERS[name](reference, predicted)
    found = metric(name, valued(reference, predicted)).value
    assert found == pytest.approx(expected, rel=1e-6)


def test_macro_averages_leave_out_labels_that_nobody_asked_for():
    reference = np.array([[1, 0, 0], [0, 1, 0]], bool)
    predicted = np.array([[1, 0, 1], [0, 0, 0]], bool)
    assert metric("macro_f1", several(reference, predicted)).value == 0.5
    assert metric("micro_f1", several(reference, predicted)).value == 0.5


def test_an_entry_rightly_left_without_labels_is_right():
    nothing = np.zeros((2, 3), bool)
    one = np.array([[0, 0, 0], [1, 0, 0]], bool)
    assert metric("samples_f1", several(nothing, nothing)).value == 1.0
    assert metric("samples_f1", several(nothing, one)).value == 0.5


@pytest.mark.parametrize(
    ("name", "reference", "predicted", "word"),
    [
        ("micro_f1", np.zeros((2, 3), bool), np.zeros((2, 3), bool), "no label at all"),
        ("micro_recall", np.zeros((2, 3), bool), np.ones((2, 3), bool), "no label at all"),
        ("macro_f1", np.zeros((2, 3), bool), np.ones((2, 3), bool), "no reference answer"),
        ("f1[sharp]", np.zeros((2, 3), bool), np.ones((2, 3), bool), "'sharp'"),
        ("precision[sharp]", np.ones((2, 3), bool), np.zeros((2, 3), bool), "never predicted"),
        ("r2", np.ones(3), np.arange(3.0), "all the same number"),
        ("pearson", np.ones(3), np.arange(3.0), "all the same number"),
        ("spearman", np.arange(3.0), np.ones(3), "predicted numbers are all the same"),
    ],
)
def test_what_is_undefined_says_why(name, reference, predicted, word):
    make = several if reference.ndim == 2 else valued
    found = metric(name, make(reference, predicted))
    assert found.value is None and word in found.reason


def test_agreement_is_of_whole_sets_and_of_numbers_within_the_bound():
    mine = np.array([[1, 0, 0], [1, 1, 0]], bool)
    theirs = np.array([[1, 0, 0], [1, 0, 0]], bool)
    assert metric("agreement", several(None, mine, other=several(None, theirs))).value == 0.5
    other = valued(None, np.array([100.0, 100.0, 0.0]))
    # The bound: 0.5 and 1 % of the reference run's value; equality is within.
    given_ = {"other": other, "bound": (0.5, 0.01)}
    found = metric("agreement", valued(None, np.array([101.5, 101.6, 0.5]), **given_))
    assert found.value == pytest.approx(2 / 3)


def paired(name, seed=2):
    """Return entries with a reference run that is somewhat better or worse, for any metric."""
    generator = np.random.default_rng(seed)
    if name in OF_NUMBERS:
        reference, predicted = numbers(seed)
        before = (predicted + generator.normal(0, 0.5, len(predicted))).astype(np.float32)
        return valued(reference, predicted, other=valued(None, before))
    if name in ("neg_log_loss", "neg_calibration_error", "agreement", "own:share"):
        reference = generator.integers(0, 3, 300).astype(np.int32)
        runs = []
        for _ in range(2):
            scores = generator.dirichlet([1, 1, 1], 300) + 0.3 * np.eye(3)[reference]
            scores = (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)
            runs.append(
                Entries(
                    TAGS,
                    scores.argmax(axis=1).astype(np.int32),
                    reference,
                    scores[np.arange(300), reference],
                    scores.max(axis=1),
                    scores=lambda scores=scores: scores,
                )
            )
        return replace(runs[0], other=replace(runs[1], reference=None))
    reference, predicted = flags(seed)
    before = predicted ^ (generator.random(predicted.shape) < 0.05)
    return several(reference, predicted, other=several(None, before))


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(
        "def share(reference, predicted, scores, labels):\n"
        "    return float(((reference == predicted) * scores.max(axis=1)).mean())\n"
    )
    monkeypatch.chdir(tmp_path)


RESAMPLED = [
    "accuracy",
    "neg_hamming_loss",
    "samples_f1",
    "micro_precision",
    "macro_f1",
    "weighted_f1",
    "recall[round]",
    *OF_NUMBERS,
    "neg_log_loss",
    "neg_calibration_error",
    "agreement",
    "own:share",
]


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize("name", RESAMPLED)
def test_the_interval_is_that_of_drawing_entries_in_pairs(name):
    """The reference here draws entries one by one and computes the metric of each draw."""
    entries = paired(name)
    other = replace(entries.other, reference=entries.reference, other=entries.other)
    found = difference_interval(name, entries, seed=0)
    generator = np.random.default_rng(99)
    drawn = []
    for _ in range(200):
        rows = generator.integers(0, len(entries), len(entries))
        drawn.append(metric(name, entries.part(rows)).value - metric(name, other.part(rows)).value)
    low, high = np.quantile(drawn, [0.025, 0.975])
    width = high - low
    assert found["resamples"] > 1000 and found["low"] < found["high"]
    assert found["low"] == pytest.approx(low, abs=0.25 * width)
    assert found["high"] == pytest.approx(high, abs=0.25 * width)
    centre = metric(name, entries).value - metric(name, other).value
    assert found["low"] <= centre <= found["high"]


def test_the_log_loss_of_several_labels_is_the_mean_over_labels():
    reference, _ = flags(3)
    scores = np.random.default_rng(3).random(reference.shape).astype(np.float32)
    right = np.where(reference, scores, 1 - scores)
    found = metric("neg_log_loss", several(reference, scores > 0.5, own_score=right))
    each = [sk.log_loss(reference[:, one], scores[:, one]) for one in range(3)]
    assert found.value == pytest.approx(-np.mean(each), rel=1e-5)


def test_very_many_entries_are_drawn_less_often_or_not_at_all():
    assert resamples(1000, DRAWN) == RESAMPLES == resamples(200_000, DRAWN)
    assert resamples(2_000_000, DRAWN) == 200
    assert resamples(2_000_001, DRAWN) == 0 == resamples(100_001, DRAWN_ANEW)


def test_an_interval_that_cannot_be_drawn_says_so(monkeypatch):
    monkeypatch.setattr("atpar.quality.resample.DRAWN_ANEW", 1000)
    found = difference_interval("spearman", paired("spearman"), seed=0)
    assert found["low"] is None and "300 entries are too many" in found["reason"]
