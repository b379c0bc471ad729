"""Paired bootstrap interval of the difference of a metric to the reference pass.

Entries are drawn with replacement, each with its reference label and both predictions, so the
entries' difficulty cancels out. What such a draw changes is only how often each triple (reference
label, reference pass' prediction, own prediction) occurs; those counts are multinomial. Drawing
them directly is the same bootstrap at a cost that doesn't grow with the corpus.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from atpar.quality.metrics import Entries

LEVEL = 0.95
RESAMPLES = 2000
CELLS = 20_000_000
"""Largest number of weights held at once (8 bytes each)."""

Statistic = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def difference_interval(name: str, entries: Entries, seed: int) -> dict[str, Any]:
    """Return the interval of `metric(pass) - metric(reference pass)`, or why there is none.

    `entries.other` holds the reference pass' predictions. The ends are the 2.5 % and 97.5 %
    percentiles of the resampled differences.
    """
    empty = {"metric": name, "level": LEVEL, "low": None, "high": None}
    if entries.other is None:
        return {**empty, "reason": "there is no reference pass to pair with"}
    if name not in STATISTICS:
        return {**empty, "reason": f"no paired interval is defined for {name}"}
    if entries.reference is None:
        return {**empty, "reason": "the corpus has no reference answers"}
    if not len(entries):
        return {**empty, "reason": "no entries"}
    differences = _differences(STATISTICS[name], entries, np.random.default_rng(seed))
    low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {**empty, "low": float(low), "high": float(high), "resamples": RESAMPLES, "seed": seed}


def _differences(
    statistic: Statistic, entries: Entries, generator: np.random.Generator
) -> np.ndarray:
    classes = len(entries.labels)
    triples = (entries.reference.astype(np.int64) * classes + entries.other) * classes
    kinds, counts = np.unique(triples + entries.predicted, return_counts=True)
    truth, other, own = kinds // classes**2, kinds // classes % classes, kinds % classes
    draws = max(1, min(RESAMPLES, CELLS // len(kinds)))
    differences = []
    for start in range(0, RESAMPLES, draws):
        size = min(draws, RESAMPLES - start)
        weights = generator.multinomial(counts.sum(), counts / counts.sum(), size=size)
        differences.append(
            statistic(weights, truth, own, classes) - statistic(weights, truth, other, classes)
        )
    return np.concatenate(differences)


def _by_class(weights: np.ndarray, codes: np.ndarray, classes: int) -> np.ndarray:
    """Return the weights summed over each class: (draws, kinds) -> (draws, classes)."""
    return weights @ (codes[:, None] == np.arange(classes)).astype(np.float64)


def _accuracy(weights, truth, guess, _classes):
    return weights @ (truth == guess) / weights.sum(axis=1)


def _class_f1(weights, truth, guess, classes):
    hits = _by_class(weights * (truth == guess), truth, classes)
    support = _by_class(weights, truth, classes)
    total = support + _by_class(weights, guess, classes)
    return np.divide(2 * hits, total, out=np.zeros_like(hits), where=total > 0), support


def _macro_f1(weights, truth, guess, classes):
    values, support = _class_f1(weights, truth, guess, classes)
    present = support > 0
    return (values * present).sum(axis=1) / present.sum(axis=1)


def _weighted_f1(weights, truth, guess, classes):
    values, support = _class_f1(weights, truth, guess, classes)
    return (values * support).sum(axis=1) / support.sum(axis=1)


def _macro_recall(weights, truth, guess, classes):
    hits = _by_class(weights * (truth == guess), truth, classes)
    support = _by_class(weights, truth, classes)
    present = support > 0
    recall = np.divide(hits, support, out=np.zeros_like(hits), where=present)
    return recall.sum(axis=1) / present.sum(axis=1)


STATISTICS: dict[str, Statistic] = {
    "accuracy": _accuracy,
    "macro_f1": _macro_f1,
    "weighted_f1": _weighted_f1,
    "macro_recall": _macro_recall,
    "balanced_accuracy": _macro_recall,
}
"""Metrics over stacked weights, equal to those of `atpar.quality.metrics` (a test compares)."""
