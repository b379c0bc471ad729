"""What a pass reproduces of another one: labels, scores, or only the quality [P23]."""

import filecmp
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from atpar.quality.predictions import ids_at, score_pairs

SHOWN_IDS = 20


@dataclass(frozen=True)
class Change:
    """How two passes over the same entries differ; scores are probabilities."""

    labels: int
    ids: list[str]
    largest_score_difference: float
    beyond_bound: int

    def violates(self, kind: str) -> str | None:
        """Return what breaks the rule `kind`, None if nothing does."""
        if kind == "identical" and (self.labels or self.largest_score_difference > 0):
            return (
                f"{self.labels} of the answers changed, scores differ by up to "
                f"{self.largest_score_difference:.3g}; identical outputs were asked for"
            )
        if kind == "bounded" and self.beyond_bound:
            return (
                f"{self.beyond_bound} scores differ by more than the bound, "
                f"by {self.largest_score_difference:.3g} at most"
            )
        return None


def compare(
    reference: Path,
    alike: np.ndarray,
    files: tuple[Path, Path],
    rule: dict[str, Any],
) -> Change:
    """Return how the second pass differs from the first, the one that it should reproduce.

    A score b reproduces a if |b - a| <= absolute + relative x |a| (as numpy.isclose), equality
    included. Both files hold all entries of the `reference` table in its order; `alike` says for
    each entry whether the answer is the same.
    """
    flipped = np.flatnonzero(~alike)
    largest, beyond = 0.0, 0
    if filecmp.cmp(*files, shallow=False):  # scores are most of a file, and often the same bytes
        return Change(0, [], largest, beyond)
    for first, second in score_pairs(*files):
        gap = np.abs(second - first)
        largest = max(largest, float(gap.max(initial=0.0)))
        bound = rule["absolute"] + rule["relative"] * np.abs(first)
        beyond += int(np.count_nonzero(gap > bound))
    return Change(len(flipped), ids_at(reference, flipped[:SHOWN_IDS]), largest, beyond)
