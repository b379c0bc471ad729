"""Forecast of the time that a load takes, from measured passes. Always a forecast, never a result.

The time of a pass is taken as `a x entries + b x padded tokens` with a, b >= 0, fitted by
non-negative least squares on relative errors (Lawson and Hanson, Solving Least Squares Problems,
1974). Stretches of a pass hold short and long entries in different shares, which tells the two
parts. Where they don't differ, passes over one corpus are one point, which tells the sum alone:
then the forecast lies between `all by entries` and `all by tokens`, and the interval says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy.optimize import nnls

from atpar.engine.batching import Grouping, Padding

DEFINITION = 1
"""Version of the fit and of its interval."""
PARTS = 16
"""Stretches that a pass is fitted in: enough to differ in length, few enough to be steady."""
SPREAD = 1.1
"""Largest and smallest tokens per entry must differ by this factor for two parts to be told."""


@dataclass(frozen=True)
class Observation:
    """So many entries and padded tokens took so long; stretches of one pass share its name."""

    passed: str
    entries: int
    padded_tokens: int
    seconds: float


@dataclass(frozen=True)
class Load:
    """The work that a forecast is made for."""

    entries: int
    padded_tokens: int

    @property
    def tokens_per_entry(self) -> float:
        """Padded tokens of a mean entry."""
        return self.padded_tokens / self.entries


@dataclass(frozen=True)
class Forecast:
    """Seconds for a load, with an interval that all measured passes agree with."""

    seconds: float
    low: float
    high: float
    method: str
    extrapolates: bool
    """Are the load's entries shorter or longer than all that were measured?"""


def stretches(
    whole: Observation, marks: Sequence[Sequence[float]], parts: int = PARTS
) -> list[Observation]:
    """Return a pass as up to `parts` stretches between its marks; else as one.

    A mark is (entries, padded tokens, seconds of computing) so far. What the pass took besides
    computing (reading, tokenizing) is shared out by entries, so that the stretches add up to it.
    """
    if len(marks) < 2 or list(marks[-1][:2]) != [whole.entries, whole.padded_tokens]:
        return [whole]
    chosen = np.linspace(0, len(marks) - 1, min(parts, len(marks))).round().astype(int)
    points = np.array([[0.0, 0.0, 0.0], *(marks[one] for one in dict.fromkeys(chosen.tolist()))])
    besides = whole.seconds - points[-1, 2]
    found = []
    for entries, tokens, seconds in np.diff(points, axis=0):
        if entries and seconds > 0:
            took = seconds + besides * entries / whole.entries
            found.append(Observation(whole.passed, int(entries), int(tokens), float(took)))
    return found


def forecast(observations: Sequence[Observation], load: Load) -> Forecast | None:
    """Return the time for `load`; None without an observation.

    The interval is the range over all fits that leave out one pass, widened by the smallest and
    the largest ratio of measured to fitted time among whole passes.
    """
    if not observations:
        return None
    ratios = [one.padded_tokens / one.entries for one in observations]
    two_parts = max(ratios) > SPREAD * min(ratios)
    predict = _two_parts if two_parts else _one_point
    method = "entries and padded tokens" if two_parts else "one corpus: by padded tokens"
    names = sorted({one.passed for one in observations})
    if len(names) == 1:
        method += "; a single pass, so its spread isn't known"
    rest = [[one for one in observations if one.passed != name] for name in names]
    fits = [observations, *(kept for kept in rest if kept)]
    ranges = [predict(kept, load) for kept in fits]
    errors = _pass_errors(observations, predict)
    return Forecast(
        # Short stretches weigh as much as long ones in the fit; whole passes set its level.
        seconds=ranges[0][0] * median(errors),
        low=min(low for _, low, _ in ranges) * min(errors),
        high=max(high for _, _, high in ranges) * max(errors),
        method=method,
        extrapolates=not min(ratios) / SPREAD <= load.tokens_per_entry <= max(ratios) * SPREAD,
    )


def _two_parts(observations: Sequence[Observation], load: Load) -> tuple[float, float, float]:
    per_entry, per_token = coefficients(observations)
    seconds = per_entry * load.entries + per_token * load.padded_tokens
    return seconds, seconds, seconds


def coefficients(observations: Sequence[Observation]) -> tuple[float, float]:
    """Return seconds per entry and per padded token that fit best in relative terms."""
    work = np.array([[one.entries, one.padded_tokens] for one in observations], dtype=float)
    seconds = np.array([one.seconds for one in observations])
    # The columns differ by orders of magnitude; scaled alike, the solver treats them alike.
    relative = work / seconds[:, None]
    scale = relative.max(axis=0)
    solution, _ = nnls(relative / scale, np.ones(len(seconds)))
    per_entry, per_token = solution / scale
    return float(per_entry), float(per_token)


def _one_point(observations: Sequence[Observation], load: Load) -> tuple[float, float, float]:
    by_entries = median(one.seconds / one.entries for one in observations) * load.entries
    by_tokens = median(one.seconds / one.padded_tokens for one in observations) * load.padded_tokens
    return by_tokens, min(by_entries, by_tokens), max(by_entries, by_tokens)


def _pass_errors(observations: Sequence[Observation], predict) -> list[float]:
    """Return measured / fitted time of each whole pass."""
    errors = []
    for name in {one.passed for one in observations}:
        own = [one for one in observations if one.passed == name]
        whole = Load(sum(one.entries for one in own), sum(one.padded_tokens for one in own))
        errors.append(sum(one.seconds for one in own) / predict(observations, whole)[0])
    return errors


def padded_tokens(
    lengths: Sequence[int] | np.ndarray,
    batch_size: int | None,
    order: str,
    padding: str,
    max_length: int | None,
    *,
    token_budget: int | None = None,
    pad_multiple: int | None = None,
    window: int | None = None,
) -> int:
    """Return the tokens that batches of `lengths` are padded to, as a variant batches them.

    `lengths` are token counts in the order of passage; with `order` length they are sorted first.
    """  # fmt: skip
    counts = np.asarray(lengths, dtype=np.int64)
    if max_length is not None:
        counts = np.minimum(counts, max_length)
    if padding == "none":
        return int(counts.sum())
    if padding == "max_length":
        if max_length is None:
            raise ValueError("padding to max_length needs a max_length")
        return int(len(counts) * max_length)
    if batch_size is None or pad_multiple is not None or window is not None:
        grouping = Grouping(batch_size, token_budget, order)
        widths = Padding(0, multiple=pad_multiple or 1, limit=max_length)
        size = window or max(1, len(counts))
        parts = (counts[start : start + size] for start in range(0, len(counts), size))
        return sum(
            len(batch) * widths.width(int(part[batch].max()))
            for part in parts
            for batch in grouping.batches(part, widths)
        )
    if order == "length":
        counts = np.sort(counts)[::-1]  # As a pass does: the last, smaller batch is the shortest.
    starts = np.arange(0, len(counts), batch_size)
    longest = np.maximum.reduceat(counts, starts) if len(counts) else counts
    sizes = np.diff(np.append(starts, len(counts)))
    return int((longest * sizes).sum())
