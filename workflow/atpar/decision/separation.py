"""Which options the series tells apart, by the sealed rule [P21].

The rule reads two sets of durations and needs no statistics package: so does the simulation that
the rule was chosen by (benchmarks/separation.py).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TypeVar

Option = TypeVar("Option", bound=Hashable)

DEFINITION = 1
"""Version of the rule `ranges-and-gap` and of the grouping."""


@dataclass(frozen=True)
class Rule:
    """The sealed rule: ranges apart, and medians apart by `gap_factor` x the larger spread."""

    gap_factor: float = 1.0
    smallest_passes: int = 3
    """With fewer durations of either option nothing is told apart."""


@dataclass(frozen=True)
class Comparison:
    """Two sets of durations (seconds) read by the rule; `first` has the smaller median."""

    median_first: float
    median_other: float
    larger_spread: float
    ranges_overlap: bool
    separated: bool
    reason: str

    @property
    def gap(self) -> float:
        """Difference of the medians in seconds."""
        return self.median_other - self.median_first


def compare(first: Sequence[float], other: Sequence[float], rule: Rule) -> Comparison:
    """Read the rule on the durations of two options; the order of the two is kept."""
    spread = max(max(first) - min(first), max(other) - min(other))
    gap = median(other) - median(first)
    overlap = max(min(first), min(other)) <= min(max(first), max(other))
    few = min(len(first), len(other)) < rule.smallest_passes
    separated = not few and not overlap and abs(gap) > rule.gap_factor * spread
    if few:
        reason = f"fewer than {rule.smallest_passes} durations of one of them"
    elif overlap:
        reason = "their ranges overlap"
    elif not separated:
        reason = (
            f"the gap of {abs(gap):.4g} s doesn't exceed {rule.gap_factor:g} x the larger spread "
            f"of {spread:.4g} s"
        )
    else:
        reason = (
            f"their ranges don't overlap, and the gap of {abs(gap):.4g} s exceeds "
            f"{rule.gap_factor:g} x the larger spread of {spread:.4g} s"
        )
    return Comparison(median(first), median(other), spread, overlap, separated, reason)


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


def groups(durations: Mapping[Option, Sequence[float]], rule: Rule) -> list[list[Option]]:
    """Return the options in groups, quickest first: any two of different groups are told apart.

    Within a group each option is joined to the others by a chain of pairs that aren't told apart;
    two ends of such a chain may well be.
    """
    order = ranked(durations)
    place = {option: index for index, option in enumerate(order)}
    found: list[list[Option]] = []
    # In the order of medians a group has no gaps, so it ends where nothing reaches further.
    reach = {option: place[option] for option in order}
    for first, other, comparison in pairs(durations, rule):
        if not comparison.separated:
            reach[first] = max(reach[first], place[other])
    end = -1
    for index, option in enumerate(order):
        if index > end:
            found.append([])
        found[-1].append(option)
        end = max(end, reach[option])
    return found
