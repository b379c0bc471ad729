"""The search: double until the memory ends, then bisect the limit."""

from collections.abc import Callable
from dataclasses import dataclass

PRECISION = 8
"""The limit is bisected until it is known to one part in so many."""


@dataclass(frozen=True)
class Trial:
    """One value tried."""

    value: int
    status: str
    """As in a pass' record: `ok`, `out_of_memory`, ..."""
    main_time_s: float | None = None
    entries_per_s: float | None = None
    padding_ratio: float | None = None
    """Padded tokens for each real one."""
    peak_bytes: int | None = None
    peak_counter: str | None = None
    """What `peak_bytes` counts."""
    reason: str | None = None

    @property
    def fits(self) -> bool:
        """Whether the trial was complete."""
        return self.status == "ok"


def search(measure: Callable[[int], Trial], smallest: int, largest: int) -> list[Trial]:
    """Try values by doubling from `smallest`; return all trials in the order they were made.

    Doubling ends at `largest`, or at the first value that doesn't fit; between that one and the
    last that fits the limit is then bisected. If the first value doesn't fit, nothing else can.
    """
    trials = [measure(smallest)]
    while trials[-1].fits and trials[-1].value < largest:
        trials.append(measure(min(2 * trials[-1].value, largest)))
    if trials[-1].fits or len(trials) == 1:
        return trials
    fits, fails = trials[-2].value, trials[-1].value
    while fails - fits > max(1, fits // PRECISION):
        trials.append(measure((fits + fails) // 2))
        if trials[-1].fits:
            fits = trials[-1].value
        else:
            fails = trials[-1].value
    return trials


def proposed(trials: list[Trial]) -> list[Trial]:
    """Return the trials worth measuring in a campaign: the fastest, and the largest that fits."""
    fitting = [trial for trial in trials if trial.fits]
    if not fitting:
        return []
    fastest = max(fitting, key=lambda trial: trial.entries_per_s)
    largest = max(fitting, key=lambda trial: trial.value)
    return list(dict.fromkeys([fastest, largest]))
