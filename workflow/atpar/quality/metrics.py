"""Metrics by name, through scikit-learn.

A metric of labels depends on how often each pair (reference label, predicted label) occurs and on
nothing else. So scikit-learn is given those pairs once each, weighted by their counts: the same
value at a cost that doesn't grow with the corpus.

Averages over classes (macro, weighted, balanced) run over the classes that occur in the reference
answers of the entries judged. That set is the same for all variants; taking in classes that only a
variant predicts would let its predictions choose the denominator.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning

from atpar.config.kinds import CLASS_METRIC
from atpar.errors import AtparError
from atpar.quality.numbers import alike, of_numbers
from atpar.quality.own import is_own, own_metric
from atpar.quality.several import of_label, of_sets
from atpar.quality.values import Value

DEFINITION = 2
CALIBRATION_BINS = 15
SCORE_METRICS = frozenset({"neg_log_loss", "neg_calibration_error"})
"""Metrics that need `own_score` and `top_score`."""


@dataclass(frozen=True)
class Entries:
    """What metrics see of the entries of a pass; arrays have one element, or row, per entry.

    reference, predicted: for one label an entry indices into `labels` (int32), for several a flag
    for each label, for numbers the numbers; reference is None without reference answers.
    own_score: score of the reference label (of several: for each label the score of the right
    side); top_score: score of the predicted label (float32); other: the entries as the reference
    run predicted them, without answers of their own (None where there is no such run).
    """

    labels: list[str]
    predicted: np.ndarray
    reference: np.ndarray | None = None
    own_score: np.ndarray | None = None
    top_score: np.ndarray | None = None
    other: "Entries | None" = None
    scores: Callable[[], np.ndarray] | None = None
    answer: str = "single"
    """What an answer is: `single`, `multiple` or `number`."""
    bound: tuple[float, float] = (1e-3, 1e-2)
    """Absolute and relative difference within which two numbers are the same answer."""

    def __len__(self) -> int:
        return len(self.predicted)

    def part(self, rows: np.ndarray) -> "Entries":
        """Return the entries at `rows` (indices or a mask)."""
        scores = self.scores
        arrays = {
            name: None if (array := getattr(self, name)) is None else array[rows]
            for name in ("predicted", "reference", "own_score", "top_score")
        }
        return replace(
            self,
            **arrays,
            other=None if self.other is None else self.other.part(rows),
            scores=None if scores is None else lambda: scores()[rows],
        )

    def alike(self, other: "Entries") -> np.ndarray:
        """Return for each entry whether both have the same answer."""
        if self.answer == "number":
            return alike(self.predicted, other.predicted, self.bound)
        equal = self.predicted == other.predicted
        return equal.all(axis=1) if self.answer == "multiple" else equal


def metric(name: str, entries: Entries) -> Value:
    """Return the metric of that name over these entries."""
    if not len(entries):
        return Value(None, "no entries")
    if name == "agreement":
        return _agreement(entries)
    if entries.reference is None:
        return Value(None, "the corpus has no reference answers")
    if name == "neg_log_loss":
        return _neg_log_loss(entries)
    if name == "neg_calibration_error":
        return _neg_calibration_error(entries)
    of_class = CLASS_METRIC.fullmatch(name)
    if is_own(name):
        return _own(name, entries)
    if entries.answer == "number":
        return of_numbers(name, entries.reference, entries.predicted)
    if entries.answer == "single":
        return _of_pairs(name, entries)
    if of_class:
        code = class_code(name, entries.labels)
        columns = entries.reference[:, code], entries.predicted[:, code]
        return of_label(of_class[1], of_class[2], *columns)
    return of_sets(name, entries.reference, entries.predicted)


def class_code(name: str, labels: list[str]) -> int:
    """Return the index of the class that a metric such as `f1[class]` is of."""
    label = CLASS_METRIC.fullmatch(name)[2]
    if label not in labels:
        raise AtparError(f"metric {name}: the model has no label {label!r}")
    return labels.index(label)


def pair_counts(reference: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Return how often reference class i got predicted class j, as a (classes, classes) array."""
    pairs = reference.astype(np.int64) * classes + predicted
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def _of_pairs(name: str, entries: Entries) -> Value:
    counts = pair_counts(entries.reference, entries.predicted, len(entries.labels))
    truth, guess = np.nonzero(counts)
    weights = {"sample_weight": counts[truth, guess]}
    present = np.flatnonzero(counts.sum(axis=1))
    averaged = {"labels": present, "zero_division": 0.0, **weights}
    of_class = CLASS_METRIC.fullmatch(name)
    if of_class:
        return _of_class(of_class[1], of_class[2], class_code(name, entries.labels), counts)
    if name == "mcc" and (len(present) < 2 or len(np.flatnonzero(counts.sum(axis=0))) < 2):
        return Value(None, "a single class among the reference answers or the predictions")
    functions: dict[str, Callable[[], float]] = {
        "accuracy": lambda: sk.accuracy_score(truth, guess, **weights),
        # The mean recall of the present classes; balanced_accuracy_score warns of other labels.
        "balanced_accuracy": lambda: sk.recall_score(truth, guess, average="macro", **averaged),
        "macro_f1": lambda: sk.f1_score(truth, guess, average="macro", **averaged),
        "weighted_f1": lambda: sk.f1_score(truth, guess, average="weighted", **averaged),
        "macro_precision": lambda: sk.precision_score(truth, guess, average="macro", **averaged),
        "macro_recall": lambda: sk.recall_score(truth, guess, average="macro", **averaged),
        "mcc": lambda: sk.matthews_corrcoef(truth, guess, **weights),
    }
    return Value(float(functions[name]()))


def _of_class(kind: str, label: str, code: int, counts: np.ndarray) -> Value:
    if not counts[code].sum():
        return Value(None, f"no entry's reference answer is {label!r}")
    if kind == "precision" and not counts[:, code].sum():
        return Value(None, f"{label!r} was never predicted")
    truth, guess = np.nonzero(counts)
    function = {"f1": sk.f1_score, "precision": sk.precision_score, "recall": sk.recall_score}[kind]
    value = function(
        truth == code, guess == code, sample_weight=counts[truth, guess], zero_division=0.0
    )
    return Value(float(value))


def _agreement(entries: Entries) -> Value:
    if entries.other is None:
        return Value(None, "the reference variant has no complete pass on this offer")
    return Value(float(np.count_nonzero(entries.alike(entries.other)) / len(entries)))


def _neg_log_loss(entries: Entries) -> Value:
    """Mean logarithm of the score that the reference answer got (scikit-learn's neg_log_loss).

    Of several labels it is the mean over labels too, of the score that the right side got. Scores
    are float32; as in scikit-learn 1.9 they are kept away from 0 by that type's epsilon.
    """
    if entries.own_score is None:
        return Value(None, "no scores")
    smallest = np.finfo(np.float32).eps
    return Value(float(np.log(np.clip(entries.own_score, smallest, 1.0), dtype=np.float64).mean()))


def _neg_calibration_error(entries: Entries) -> Value:
    """Minus the expected calibration error of the top label, 15 bins of equal width.

    Naeini, Cooper, Hauskrecht: Obtaining Well Calibrated Probabilities Using Bayesian Binning,
    AAAI 2015; the mean over bins of |share right - mean score|, weighted by their entries.
    """
    if entries.top_score is None:
        return Value(None, "no scores")
    bins, gaps = calibration_gaps(entries)
    sums = np.bincount(bins, weights=gaps, minlength=CALIBRATION_BINS)
    return Value(float(-np.abs(sums).sum() / len(entries)))


def calibration_gaps(entries: Entries) -> tuple[np.ndarray, np.ndarray]:
    """Return each entry's bin, and by how much being right (1 or 0) exceeds its score."""
    scores = entries.top_score.astype(np.float64)
    bins = np.minimum((scores * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    return bins, (entries.predicted == entries.reference) - scores


def _own(name: str, entries: Entries) -> Value:
    """Call a user's `module:function(reference, predicted, scores, labels)`.

    reference, predicted: arrays of label names, of flags (entries, labels) where an entry has
    several labels, or of numbers; scores: (entries, labels) float32; labels: names in the order of
    the scores. It returns a number, larger is better, or None: undefined.
    """
    function = own_metric(name)
    answers = entries.reference, entries.predicted
    if entries.answer == "single":
        names = np.array(entries.labels, dtype=object)
        answers = names[entries.reference], names[entries.predicted]
    scores = entries.scores() if entries.scores else None
    try:
        value = function(*answers, scores, list(entries.labels))
        value = None if value is None else float(value)
    except Exception as error:
        raise AtparError(f"metric {name}: {type(error).__name__}: {error}") from error
    if value is None or not np.isfinite(value):
        return Value(None, f"{name} gave no number")
    return Value(value)


def evaluate(names: list[str], entries: Entries) -> dict[str, Value]:
    """Return each named metric; what scikit-learn would warn of is said by `reason`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UndefinedMetricWarning)
        return {name: metric(name, entries) for name in names}
