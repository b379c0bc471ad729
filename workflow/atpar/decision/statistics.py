"""Beside the sealed rule: a permutation test, an interval of the ratio, an effect of position.

They inform; the rule decides. With five durations of each option the permutation test can't give
less than 2 / 252 = 0.008.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 9999
SEED = 0
LARGEST_EXACT = 200_000
"""Most rearrangements that are all tried; above it the test draws as many at random."""


@dataclass(frozen=True)
class Finding:
    """A test's p-value or an interval; `reason` says why there is none."""

    p_value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def permutation_test(first: Sequence[float], other: Sequence[float]) -> Finding:
    """Two-sided permutation test of the difference of means, exact where that is feasible.

    It takes the passes of the two options as exchangeable under the null hypothesis, which a
    rotated order is meant to bring about.
    """
    if min(len(first), len(other)) < 2:
        return Finding(reason="fewer than two durations of one of them")
    result = stats.permutation_test(
        (np.asarray(first), np.asarray(other)),
        lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        permutation_type="independent",
        n_resamples=LARGEST_EXACT,
        vectorized=True,
        rng=SEED,
    )
    return Finding(p_value=float(result.pvalue))


def ratio_interval(first: Sequence[float], other: Sequence[float]) -> Finding:
    """95 % bootstrap interval (percentiles) of median(other) / median(first).

    From a handful of durations it is rough and rather too narrow: it shows the order of
    magnitude of the uncertainty.
    """
    if min(len(first), len(other)) < 3:
        return Finding(reason="fewer than three durations of one of them")
    with warnings.catch_warnings():
        # Durations that are all equal have an interval of no width, which is right.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        interval = stats.bootstrap(
            (np.asarray(first), np.asarray(other)),
            lambda x, y, axis: np.median(y, axis=axis) / np.median(x, axis=axis),
            n_resamples=RESAMPLES,
            confidence_level=LEVEL,
            method="percentile",
            vectorized=True,
            rng=SEED,
        ).confidence_interval
    return Finding(low=float(interval.low), high=float(interval.high))


def position_effect(passes: Mapping[object, Sequence[tuple[int, float]]]) -> Finding:
    """Test whether a pass' duration depends on its place in the round (Kruskal-Wallis).

    `passes` are (position, duration) of each option; durations are divided by the option's median,
    so that options of different speed can be taken together.
    """
    by_position: dict[int, list[float]] = {}
    for rows in passes.values():
        if len(rows) < 2:
            continue
        middle = float(np.median([duration for _, duration in rows]))
        for position, duration in rows:
            by_position.setdefault(position, []).append(duration / middle)
    return _differing(by_position, "positions")


def time_of_day(relative: Mapping[str, Sequence[float]]) -> Finding:
    """Test whether durations depend on the quarter of the day (Kruskal-Wallis).

    `relative` are durations divided by their option's median, by quarter. A series that sees each
    quarter once can't tell the time of day from a trend; both are looked for.
    """
    return _differing(relative, "quarters of the day")


def _differing(samples: Mapping[object, Sequence[float]], what: str) -> Finding:
    """Test whether samples differ, of those that hold two values or more."""
    usable = [values for values in samples.values() if len(values) > 1]
    if len(usable) < 2:
        return Finding(reason=f"fewer than two {what} have two passes or more")
    if len({value for values in usable for value in values}) == 1:
        return Finding(reason="all durations are equal")
    return Finding(p_value=float(stats.kruskal(*usable).pvalue))


def trend(relative: Sequence[float]) -> tuple[float | None, Finding]:
    """Test whether durations rise or fall in the order of measurement (Kendall's tau).

    `relative` are durations divided by their option's median, in measured order. Returns tau
    (positive: passes became slower) and the finding.
    """
    if len(relative) < 5:
        return None, Finding(reason="fewer than five durations")
    if len(set(relative)) == 1:
        return None, Finding(reason="all durations are equal")
    result = stats.kendalltau(np.arange(len(relative)), relative)
    return float(result.statistic), Finding(p_value=float(result.pvalue))
