"""Bootstrap of metrics that aren't a matter of counted pairs: entries themselves are drawn.

Most metrics are functions of sums over entries (of logarithms, errors, squares, hits of each
label). Of those a draw needs the sums alone: how often each entry was drawn, times what it adds.
What is no function of sums (rank correlation, a metric of one's own) is computed of each draw anew,
by `scipy.stats.bootstrap`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import stats

from atpar.config.kinds import CLASS_METRIC
from atpar.quality.metrics import (
    CALIBRATION_BINS,
    Entries,
    calibration_gaps,
    class_code,
    evaluate,
)

RESAMPLES = 2000
FEWEST = 200
"""Fewer draws than these give no interval."""
DRAWN = 400_000_000
"""Entries drawn in all for sums, a few seconds' work: from 200 000 entries on, fewer resamples."""
DRAWN_ANEW = 20_000_000
"""The same where each draw is a call of the metric."""
CELLS = 20_000_000
"""Largest number of weights held at once (8 bytes each)."""

Finish = Callable[[np.ndarray, int], np.ndarray]


def resamples(entries: int, drawn: int) -> int:
    """Return how many resamples so many entries get; 0: too many entries for an interval."""
    number = min(RESAMPLES, drawn // max(entries, 1))
    return number if number >= FEWEST else 0


def drawn_differences(name: str, entries: Entries, seed: int) -> np.ndarray:
    """Return the metric minus the reference pass' over resampled entries; empty: too many entries.

    `entries.other` is the reference pass. A difference is NaN where a draw leaves it undefined.
    """
    other = replace(entries.other, reference=entries.reference, other=entries.other)
    parts = _parts(name, entries), _parts(name, other)
    if parts[0] is None:
        return _anew(name, entries, other, seed)
    (own, finish), (others, _) = parts
    generator = np.random.default_rng(seed)
    found = [
        finish(weights @ own, len(entries)) - finish(weights @ others, len(entries))
        for weights in _weights(len(entries), resamples(len(entries), DRAWN), generator)
    ]
    return np.concatenate(found) if found else np.empty(0)


def _weights(entries: int, draws: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Give how often each entry is drawn, as (draws, entries), in pieces that fit in memory."""
    size = max(1, CELLS // max(entries, 1))
    for start in range(0, draws, size):
        yield np.stack(
            [
                np.bincount(generator.integers(entries, size=entries), minlength=entries)
                for _ in range(min(size, draws - start))
            ]
        ).astype(np.float64)


def _anew(name: str, entries: Entries, other: Entries, seed: int) -> np.ndarray:
    draws = resamples(len(entries), DRAWN_ANEW)
    if not draws:
        return np.empty(0)
    # The scores are read once, not for each of thousands of draws.
    both = [_with_scores(one) for one in (entries, other)]

    def difference(rows: np.ndarray) -> float:
        values = [evaluate([name], one.part(rows))[name].value for one in both]
        return np.nan if None in values else values[0] - values[1]

    return stats.bootstrap(
        (np.arange(len(entries)),),
        difference,
        n_resamples=draws,
        vectorized=False,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).bootstrap_distribution


def _with_scores(entries: Entries) -> Entries:
    if entries.scores is None:
        return entries
    scores = entries.scores()
    return replace(entries, scores=lambda: scores)


def _parts(name: str, entries: Entries) -> tuple[np.ndarray, Finish] | None:
    """Return what each entry adds (entries x sums) and how the metric follows from the sums."""
    if name == "agreement":
        return entries.alike(entries.other).astype(np.float64)[:, None], _mean
    if name == "neg_log_loss":
        smallest = np.finfo(np.float32).eps
        logs = np.log(np.clip(entries.own_score, smallest, 1.0), dtype=np.float64)
        return logs.reshape(len(entries), -1).mean(axis=1)[:, None], _mean
    if name == "neg_calibration_error":
        bins, gaps = calibration_gaps(entries)
        return (bins[:, None] == np.arange(CALIBRATION_BINS)) * gaps[:, None], _calibration
    if entries.answer == "number":
        return _number_parts(name, entries.reference, entries.predicted.astype(np.float64))
    if entries.answer == "multiple":
        return _set_parts(name, entries)
    return None


def _mean(sums: np.ndarray, entries: int) -> np.ndarray:
    return sums[:, 0] / entries


def _calibration(sums: np.ndarray, entries: int) -> np.ndarray:
    return -np.abs(sums).sum(axis=1) / entries


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return above / below, NaN where it is undefined."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _number_parts(
    name: str, reference: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, Finish] | None:
    # About their means, so that the sums of squares don't cancel.
    answers, guesses = reference - reference.mean(), predicted - predicted.mean()
    errors = predicted - reference
    if name == "neg_mae":
        return -np.abs(errors)[:, None], _mean
    if name == "neg_rmse":
        return errors[:, None] ** 2, lambda sums, entries: -np.sqrt(_mean(sums, entries))
    if name == "r2":
        return np.stack([errors**2, answers, answers**2], axis=1), _r2
    if name == "pearson":
        columns = [answers, guesses, answers**2, guesses**2, answers * guesses]
        return np.stack(columns, axis=1), _pearson
    return None


def _r2(sums: np.ndarray, entries: int) -> np.ndarray:
    errors, answers, squares = sums.T
    return 1 - _ratio(errors, squares - answers**2 / entries)


def _pearson(sums: np.ndarray, entries: int) -> np.ndarray:
    one, other, one_squared, other_squared, both = sums.T
    spread = (one_squared - one**2 / entries) * (other_squared - other**2 / entries)
    return _ratio(both - one * other / entries, np.sqrt(np.maximum(spread, 0)))


def _set_parts(name: str, entries: Entries) -> tuple[np.ndarray, Finish] | None:
    answers, guesses = entries.reference, entries.predicted
    hits = answers & guesses
    if name == "accuracy":
        return (answers == guesses).all(axis=1).astype(np.float64)[:, None], _mean
    if name == "neg_hamming_loss":
        return -(answers != guesses).mean(axis=1)[:, None], _mean
    if name == "samples_f1":
        sizes = answers.sum(axis=1) + guesses.sum(axis=1)
        each = np.divide(2.0 * hits.sum(axis=1), sizes, out=np.ones(len(sizes)), where=sizes > 0)
        return each[:, None], _mean
    of_class = CLASS_METRIC.fullmatch(name)
    if ":" in name and not of_class:
        return None
    sums = np.concatenate([hits, answers, guesses], axis=1).astype(np.float64)
    if of_class:
        code = class_code(name, entries.labels)
        whole = BY_LABEL[of_class[1]]
        return sums, lambda found, _: whole(*np.split(found, 3, axis=1))[:, code]
    average, _, kind = name.partition("_")
    return sums, lambda found, _: AVERAGES[average](BY_LABEL[kind], *np.split(found, 3, axis=1))


def ratio_or_zero(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return above / below, 0 where both are 0 (as `zero_division=0` of scikit-learn)."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


BY_LABEL: dict[str, Callable[..., np.ndarray]] = {
    "f1": lambda hits, answers, guesses: ratio_or_zero(2 * hits, answers + guesses),
    "precision": lambda hits, _, guesses: ratio_or_zero(hits, guesses),
    "recall": lambda hits, answers, _: ratio_or_zero(hits, answers),
}
"""Metrics of each label, of (hits, reference answers, predictions), each (draws, labels)."""


def _micro(kind: Callable, *sums: np.ndarray) -> np.ndarray:
    return kind(*(one.sum(axis=1) for one in sums))


def _macro(kind: Callable, hits: np.ndarray, answers: np.ndarray, guesses: np.ndarray):
    present = answers > 0
    values = kind(hits, answers, guesses) * present
    return _ratio(values.sum(axis=1), present.sum(axis=1).astype(np.float64))


def _weighted(kind: Callable, hits: np.ndarray, answers: np.ndarray, guesses: np.ndarray):
    return _ratio((kind(hits, answers, guesses) * answers).sum(axis=1), answers.sum(axis=1))


AVERAGES: dict[str, Callable[..., np.ndarray]] = {
    "micro": _micro,
    "macro": _macro,
    "weighted": _weighted,
}
"""Averages over the labels, of such a metric and the same three."""
