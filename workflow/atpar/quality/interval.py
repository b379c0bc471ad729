"""Paired bootstrap interval of the difference of a metric to the reference pass.

Entries are drawn with replacement, each with its reference label and both predictions, so the
entries' difficulty cancels out. What such a draw changes is only how often each triple (reference
label, reference pass' prediction, own prediction) occurs; those counts are multinomial. Drawing
them directly is the same bootstrap at a cost that doesn't grow with the corpus.
Metrics that depend on more than those counts are resampled entry by entry
(`atpar.quality.resample`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from atpar.errors import AtparError
from atpar.quality.metrics import CLASS_METRIC, Entries, class_code
from atpar.quality.resample import CELLS, RESAMPLES, drawn_differences

LEVEL = 0.95

Statistic = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def difference_interval(name: str, entries: Entries, seed: int) -> dict[str, Any]:
    """Return the interval of `metric(pass) - metric(reference pass)`, or why there is none.

    `entries.other` is the reference pass, which agrees with itself wholly. The ends are the 2.5 %
    and 97.5 % percentiles of the resampled differences.
    """
    empty = {"metric": name, "level": LEVEL, "low": None, "high": None}
    if entries.other is None:
        return {**empty, "reason": "there is no reference pass to pair with"}
    if not len(entries):
        return {**empty, "reason": "no entries"}
    if entries.reference is None and name != "agreement":
        return {**empty, "reason": "the corpus has no reference answers"}
    statistic = _statistic(name, entries)
    if statistic is None:
        try:
            differences = drawn_differences(name, entries, seed)
        except AtparError as error:
            # A metric of one's own may not bear what a draw leaves out, such as a rare class.
            return {**empty, "reason": f"of entries drawn again: {error}"}
    else:
        differences = _differences(statistic, entries, np.random.default_rng(seed))
    if not len(differences):
        reason = f"{len(entries)} entries are too many to be drawn again and again for {name}"
        return {**empty, "reason": reason}
    undefined = int(np.isnan(differences).sum())
    if undefined == len(differences):
        return {**empty, "reason": f"{name} is undefined whatever entries are drawn"}
    low, high = np.nanquantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return {
        **empty,
        "low": float(low),
        "high": float(high),
        "resamples": len(differences) - undefined,
        "seed": seed,
    }


def _differences(
    statistic: Statistic, entries: Entries, generator: np.random.Generator
) -> np.ndarray:
    classes = len(entries.labels)
    before = entries.other.predicted.astype(np.int64)
    triples = (entries.reference.astype(np.int64) * classes + before) * classes
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


def _statistic(name: str, entries: Entries) -> Statistic | None:
    """Return the metric as a function of counted triples; None: it is none, or of other answers."""
    if entries.answer != "single":
        return None
    of_class = CLASS_METRIC.fullmatch(name)
    if of_class is None:
        return STATISTICS.get(name)
    whole, code = CLASS_STATISTICS[of_class[1]], class_code(name, entries.labels)
    return lambda *given: whole(*given)[:, code]


def _sums(weights, truth, guess, classes):
    """Return hits, reference answers and predictions of each class, as (draws, classes)."""

    def by_class(values, codes):
        return values @ (codes[:, None] == np.arange(classes)).astype(np.float64)

    return (
        by_class(weights * (truth == guess), truth),
        by_class(weights, truth),
        by_class(weights, guess),
    )


def _ratio(above, below):
    """Return above / below, 0 where both are 0 (as `zero_division=0` of scikit-learn)."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _f1(*given):
    hits, answers, predictions = _sums(*given)
    return _ratio(2 * hits, answers + predictions)


def _precision(*given):
    hits, _, predictions = _sums(*given)
    return _ratio(hits, predictions)


def _recall(*given):
    hits, answers, _ = _sums(*given)
    return _ratio(hits, answers)


def _macro(of_class):
    """Return the mean of a class metric over the classes that occur in the reference answers."""

    def mean(*given):
        present = _sums(*given)[1] > 0
        return (of_class(*given) * present).sum(axis=1) / present.sum(axis=1)

    return mean


def _weighted_f1(*given):
    answers = _sums(*given)[1]
    return (_f1(*given) * answers).sum(axis=1) / answers.sum(axis=1)


def _accuracy(*given):
    hits, answers, _ = _sums(*given)
    return hits.sum(axis=1) / answers.sum(axis=1)


def _mcc(*given):
    """Matthews' coefficient for several classes (Gorodkin 2004, R_K); 0 where it is undefined."""
    hits, answers, predictions = _sums(*given)
    total = answers.sum(axis=1)
    covariance = hits.sum(axis=1) * total - (answers * predictions).sum(axis=1)
    spread = (total**2 - (answers**2).sum(axis=1)) * (total**2 - (predictions**2).sum(axis=1))
    return _ratio(covariance, np.sqrt(spread))


CLASS_STATISTICS: dict[str, Statistic] = {"f1": _f1, "precision": _precision, "recall": _recall}
STATISTICS: dict[str, Statistic] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _macro(_recall),
    "macro_f1": _macro(_f1),
    "macro_precision": _macro(_precision),
    "macro_recall": _macro(_recall),
    "weighted_f1": _weighted_f1,
    "mcc": _mcc,
}
"""Metrics over stacked weights (draws, kinds), equal to those of `atpar.quality.metrics`."""
