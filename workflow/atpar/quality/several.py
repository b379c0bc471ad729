"""Metrics of several labels an entry, through scikit-learn.

Reference and predicted answers are flags (entries x labels). Macro averages run over the labels
that some reference answer judged has, as for one label an entry; micro averages over all decisions.
"""

from collections.abc import Callable

import numpy as np
from sklearn import metrics as sk

from atpar.quality.values import Value

NO_ANSWER = "no reference answer here has any label"
NOTHING = "no label at all, neither among the reference answers nor predicted"


def of_sets(name: str, reference: np.ndarray, predicted: np.ndarray) -> Value:
    """Return the metric of that name over flags (entries x labels)."""
    if name == "accuracy":
        return Value(float(sk.accuracy_score(reference, predicted)))
    if name == "neg_hamming_loss":
        return Value(float(-sk.hamming_loss(reference, predicted)))
    if name == "samples_f1":
        # An entry that has no label, and gets none, is answered rightly.
        kept = {"average": "samples", "zero_division": 1.0}
        return Value(float(sk.f1_score(reference, predicted, **kept)))
    average, _, kind = name.partition("_")
    function = _FUNCTIONS[kind]
    if average == "micro":
        if not _denominator(kind, reference, predicted):
            return Value(None, NOTHING)
        return Value(float(function(reference, predicted, average="micro", zero_division=0.0)))
    present = np.flatnonzero(reference.any(axis=0))
    if not len(present):
        return Value(None, NO_ANSWER)
    kept = {"labels": present, "average": average, "zero_division": 0.0}
    return Value(float(function(reference, predicted, **kept)))


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "f1": sk.f1_score,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
}


def _denominator(kind: str, reference: np.ndarray, predicted: np.ndarray) -> bool:
    sides = {"f1": (reference, predicted), "precision": (predicted,), "recall": (reference,)}
    return any(side.any() for side in sides[kind])


def of_label(kind: str, label: str, reference: np.ndarray, predicted: np.ndarray) -> Value:
    """Return f1, precision or recall of one label's flags."""
    if not reference.any():
        return Value(None, f"no entry's reference answer has {label!r}")
    if kind == "precision" and not predicted.any():
        return Value(None, f"{label!r} was never predicted")
    return Value(float(_FUNCTIONS[kind](reference, predicted, zero_division=0.0)))
