"""Which options the series tells apart, by the sealed rule [P21].

The rule reads sets of durations along the last axis, so that one call reads one pair or, in
benchmarks/separation.py, thousands of simulated ones: the figures there are those of this code.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from statistics import median
from typing import TypeVar

import numpy as np
from scipy import stats

Option = TypeVar("Option", bound=Hashable)

DEFINITION = 2
"""Version of the rules and of the grouping."""


@dataclass(frozen=True)
class Rule:
    """The sealed rule; see `atpar.config.protocol.Separation`."""

    rule: str = "ranks-and-gap"
    level: float = 0.01
    gap_factor: float = 1.0


@dataclass(frozen=True)
class Figures:
    """What the rule reads of two sets of durations; arrays over all axes but the last.

    gap, spread and middle_spread in seconds; spread and middle_spread are the larger of the two.
    """

    gap: np.ndarray
    spread: np.ndarray
    middle_spread: np.ndarray
    overlap: np.ndarray
    p_value: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """Two sets of durations (seconds) read by the rule; `first` has the smaller median."""

    median_first: float
    median_other: float
    larger_spread: float
    larger_middle_spread: float
    ranges_overlap: bool
    rank_p_value: float
    separated: bool
    reason: str

    @property
    def gap(self) -> float:
        """Difference of the medians in seconds."""
        return self.median_other - self.median_first


def figures(first: np.ndarray, other: np.ndarray) -> Figures:
    """Return the figures of durations (..., passes) of two options.

    The p-value is that of the exact two-sided rank test of Mann and Whitney; equal durations are
    counted half, and the sum is rounded against separation.
    """
    return Figures(
        gap=np.abs(np.median(other, axis=-1) - np.median(first, axis=-1)),
        spread=np.maximum(np.ptp(first, axis=-1), np.ptp(other, axis=-1)),
        middle_spread=np.maximum(stats.iqr(first, axis=-1), stats.iqr(other, axis=-1)),
        overlap=np.maximum(first.min(-1), other.min(-1))
        <= np.minimum(first.max(-1), other.max(-1)),
        p_value=stats.mannwhitneyu(first, other, axis=-1, method="exact").pvalue,
    )


def told_apart(found: Figures, rule: Rule) -> np.ndarray:
    """Return whether the rule tells the two options apart."""
    if rule.rule == "ranges-and-gap":
        return ~found.overlap & (found.gap > rule.gap_factor * found.spread)
    return (found.p_value <= rule.level) & (found.gap > rule.gap_factor * found.middle_spread)


def smallest_p_value(first: int, other: int) -> float:
    """Return the smallest p-value that the rank test can give for so many durations."""
    return 2 / comb(first + other, first)


def compare(first: Sequence[float], other: Sequence[float], rule: Rule) -> Comparison:
    """Read the rule on the durations of two options; the order of the two is kept."""
    found = figures(np.asarray(first, float), np.asarray(other, float))
    separated = bool(told_apart(found, rule))
    return Comparison(
        median_first=float(np.median(first)),
        median_other=float(np.median(other)),
        larger_spread=float(found.spread),
        larger_middle_spread=float(found.middle_spread),
        ranges_overlap=bool(found.overlap),
        rank_p_value=float(found.p_value),
        separated=separated,
        reason=_reason(found, rule, (len(first), len(other))),
    )


def _reason(found: Figures, rule: Rule, passes: tuple[int, int]) -> str:
    """Return in words why the rule does or doesn't tell the two apart."""
    if rule.rule == "ranges-and-gap":
        where, spread, name = "their ranges", found.spread, "spread"
        clear = not found.overlap
        words = "don't overlap" if clear else "overlap"
    else:
        where, spread, name = "their ranks", found.middle_spread, "middle spread"
        clear = found.p_value <= rule.level
        words = f"differ (p = {found.p_value:.2g})" if clear else f"mix (p = {found.p_value:.2g})"
        if smallest_p_value(*passes) > rule.level:
            return (
                f"{passes[0]} and {passes[1]} durations are too few: no order of them reaches "
                f"the level {rule.level:g}"
            )
    if not clear:
        return f"{where} {words}"
    verb = "exceeds" if told_apart(found, rule) else "doesn't exceed"
    joint = "and" if told_apart(found, rule) else "but"
    return (
        f"{where} {words}, {joint} the gap of {found.gap:.4g} s {verb} {rule.gap_factor:g} x the "
        f"larger {name} of {spread:.4g} s"
    )


def ranked(durations: Mapping[Option, Sequence[float]]) -> list[Option]:
    """Return the options that have durations by their medians, the smallest first."""
    return sorted(
        (option for option, times in durations.items() if times),
        key=lambda option: (median(durations[option]), option),
    )


def pairs(
    durations: Mapping[Option, Sequence[float]], rule: Rule
) -> Iterable[tuple[Option, Option, Comparison]]:
    """Give each pair of options with its comparison, the smaller median first."""
    for first, other in combinations(ranked(durations), 2):
        yield first, other, compare(durations[first], durations[other], rule)


def groups(
    order: Sequence[Option], together: Iterable[tuple[Option, Option]]
) -> list[list[Option]]:
    """Return the options in groups: any two of different groups are told apart.

    `order` are the options, quickest first; `together` the pairs that aren't told apart, in that
    order. Within a group each option is joined to the others by a chain of such pairs; the two
    ends of a chain may well be told apart.
    """
    place = {option: index for index, option in enumerate(order)}
    reach = list(range(len(order)))
    for first, other in together:
        reach[place[first]] = max(reach[place[first]], place[other])
    found: list[list[Option]] = []
    end = -1
    for index, option in enumerate(order):
        if index > end:
            found.append([])
        found[-1].append(option)
        end = max(end, reach[index])
    return found
