"""Paired bootstrap interval of the difference of a metric to the reference pass.

Entries are drawn with replacement, each with its reference label and both predictions, so the
entries' difficulty cancels out. What such a draw changes is only how often each triple (reference
label, reference pass' prediction, own prediction) occurs; those counts are multinomial. Drawing
them directly is the same bootstrap at a cost that doesn't grow with the corpus.
Metrics that depend on more than those counts are resampled entry by entry
(`atpar.quality.resample`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from atpar.config.kinds import CLASS_METRIC
from atpar.errors import AtparError
from atpar.quality.metrics import Entries, class_code
from atpar.quality.resample import (
    AVERAGES,
    BY_LABEL,
    CELLS,
    RESAMPLES,
    drawn_differences,
    ratio_or_zero,
)

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
        counted = _right_or_wrong(entries) if name == "accuracy" else entries
        differences = _differences(statistic, counted, np.random.default_rng(seed))
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


def _right_or_wrong(entries: Entries) -> Entries:
    """Return the entries with answers that are 0 where they were right and 1 elsewhere.

    Accuracy asks for no more, and draws of four kinds of triples cost less than draws of hundreds.
    """

    def wrong(one: Entries) -> np.ndarray:
        return (one.predicted != entries.reference).astype(np.int32)

    return replace(
        entries,
        labels=["right", "wrong"],
        reference=np.zeros(len(entries), np.int32),
        predicted=wrong(entries),
        other=replace(entries.other, predicted=wrong(entries.other)),
    )


def _differences(
    statistic: Statistic, entries: Entries, generator: np.random.Generator
) -> np.ndarray:
    classes = len(entries.labels)
    kinds, counts = _triples(entries, classes)
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


def _triples(entries: Entries, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the triples that occur, as (reference x classes + other) x classes + own, and counts.

    Counting needs a place for every triple; where those are many more than entries, sorting is
    less work.
    """
    triples = entries.reference.astype(np.int64)
    for codes in (entries.other.predicted, entries.predicted):
        triples *= classes
        triples += codes
    if classes**3 > 4 * len(triples):
        return np.unique(triples, return_counts=True)
    counts = np.bincount(triples)
    kinds = np.flatnonzero(counts)
    return kinds, counts[kinds]


def _statistic(name: str, entries: Entries) -> Statistic | None:
    """Return the metric as a function of counted triples; None: it is none, or of other answers."""
    if entries.answer != "single":
        return None
    of_class = CLASS_METRIC.fullmatch(name)
    if of_class is None:
        return STATISTICS.get(name)
    whole, code = _of_class(of_class[1]), class_code(name, entries.labels)
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


def _of_class(kind: str) -> Statistic:
    return lambda *given: BY_LABEL[kind](*_sums(*given))


def _averaged(average: str, kind: str) -> Statistic:
    return lambda *given: AVERAGES[average](BY_LABEL[kind], *_sums(*given))


def _accuracy(*given):
    hits, answers, _ = _sums(*given)
    return hits.sum(axis=1) / answers.sum(axis=1)


def _mcc(*given):
    """Matthews' coefficient for several classes (Gorodkin 2004, R_K); 0 where it is undefined."""
    hits, answers, predictions = _sums(*given)
    total = answers.sum(axis=1)
    covariance = hits.sum(axis=1) * total - (answers * predictions).sum(axis=1)
    spread = (total**2 - (answers**2).sum(axis=1)) * (total**2 - (predictions**2).sum(axis=1))
    return ratio_or_zero(covariance, np.sqrt(spread))


STATISTICS: dict[str, Statistic] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _averaged("macro", "recall"),
    "macro_f1": _averaged("macro", "f1"),
    "macro_precision": _averaged("macro", "precision"),
    "macro_recall": _averaged("macro", "recall"),
    "weighted_f1": _averaged("weighted", "f1"),
    "mcc": _mcc,
}
"""Metrics over stacked weights (draws, kinds), equal to those of `atpar.quality.metrics`."""
