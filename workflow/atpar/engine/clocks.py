"""Clocks: durations from a monotonic clock, instants in UTC, and a check of one by the other."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

DISAGREEMENT_LIMIT_S = 1.0
"""Clocks that differ by more than this over an attempt are noted in its row."""


def utc_text(seconds: float) -> str:
    """Return seconds since 1970 as ISO text in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def local_zone() -> str:
    """Return this machine's offset from UTC as `+HH:MM`."""
    text = datetime.now().astimezone().strftime("%z")
    return f"{text[:3]}:{text[3:]}"


@dataclass
class WallAndMonotonic:
    """An interval by three clocks: monotonic, wall, and one that goes on while suspended.

    The monotonic clock gives the duration; the others tell whether the wall clock was set or the
    machine was suspended meanwhile, which a duration alone hides while the rental is paid for.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    boot: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    started: tuple[float, float, float] = field(init=False)

    def __post_init__(self) -> None:
        self.started = (self.monotonic(), self.wall(), self.boot())

    def elapsed_s(self) -> float:
        """Seconds by the monotonic clock."""
        return self.monotonic() - self.started[0]

    def disagreement_s(self) -> float:
        """Largest difference, in seconds, between the monotonic and another clock's elapsed time.

        Positive: the other clock went further.
        """
        elapsed = self.elapsed_s()
        others = (self.wall() - self.started[1], self.boot() - self.started[2])
        return max((other - elapsed for other in others), key=abs)

    def started_utc(self) -> str:
        """The start as ISO text in UTC."""
        return utc_text(self.started[1])


START_UP = ("start", "import", "load", "compile", "warm_up")
"""Phases before the measured span [P12]; `start` holds the interpreter's, the wait for the device
and the check of the weights' digests."""
WITHIN = ("read", "tokenize", "transfer", "inference", "materialise")
"""Phases inside the measured span."""
PHASES = (*START_UP, *WITHIN)
"""Phases with a duration of their own."""

NOT_REACHED = "the attempt ended before this phase was over"


@dataclass
class Phases:
    """Durations of the phases in seconds; one that wasn't timed is None with its reason."""

    clock: Callable[[], float] = time.perf_counter
    seconds: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time spent inside to `phase`; nothing is added if an exception leaves it."""
        start = self.clock()
        yield
        self.add(phase, self.clock() - start)

    def of(self, phase: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function returns, and add the time that it takes to `phase`."""
        start = self.clock()
        result = function(*arguments)
        self.add(phase, self.clock() - start)
        return result

    def add(self, phase: str, seconds: float) -> None:
        """Add `seconds` to a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def untimed(self, phase: str, reason: str) -> None:
        """Say why a phase has no duration."""
        self.seconds.pop(phase, None)
        self.reasons[phase] = reason

    def record(self) -> tuple[dict[str, float | None], dict[str, str]]:
        """Return every phase's seconds or None, and the reason of each None."""
        seconds = {phase: self.seconds.get(phase) for phase in PHASES}
        reasons = {
            phase: self.reasons.get(phase, NOT_REACHED)
            for phase in PHASES
            if seconds[phase] is None
        }
        return seconds, reasons
