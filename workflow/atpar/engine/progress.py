"""How far an attempt has come: a small file for the supervisor, a line for the person watching."""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from atpar.engine.clocks import utc_text
from atpar.journal.attempts import machine

WRITE_EVERY_S = 0.5


@dataclass
class Progress:
    """Keeps `progress.json` in the attempt's folder up to date, at most twice a second.

    The file is replaced whole, so that whoever reads it after a kill finds one state or another.
    """

    folder: Path
    expected: int | None = None
    phase: str = "start"
    completed: int = 0
    count: Callable[[], int] | None = None
    """How many entries are done, where other processes do some too."""
    clock: Callable[[], float] = time.monotonic
    machine: dict[str, str | None] = field(default_factory=machine)
    started: float = field(init=False)
    _measured_from: float | None = field(init=False, default=None)
    _written: float = field(init=False, default=float("-inf"))

    def __post_init__(self) -> None:
        self.started = self.clock()

    def enter(self, phase: str) -> None:
        """Say that a phase begins; written at once."""
        self.phase = phase
        if phase == "measured":
            self._measured_from = self.clock()
        self._write()

    def advance(self, entries: int) -> None:
        """Count entries whose predictions are on the host."""
        self.completed += entries
        if self.clock() - self._written >= WRITE_EVERY_S:
            if self.count is not None:
                self.completed = self.count()
            self._write()

    def _write(self) -> None:
        now = self.clock()
        self._written = now
        state = {
            "phase": self.phase,
            "process": os.getpid(),
            **self.machine,
            "entries_completed": self.completed,
            "entries_expected": self.expected,
            "measured_s": None if self._measured_from is None else now - self._measured_from,
            "wall_time_s": round(now - self.started, 3),
            "at_utc": utc_text(time.time()),
        }
        temporary = self.folder / ".progress.json.part"
        temporary.write_text(json.dumps(state), encoding="utf-8")
        temporary.replace(self.folder / "progress.json")


def progress_line(label: str, state: dict) -> str:
    """Return one line for the person watching: what runs, entries done, entries/s, time left."""
    completed, expected = state.get("entries_completed") or 0, state.get("entries_expected")
    if state.get("phase") != "measured" or not expected:
        return f"{label}: {str(state.get('phase', 'start')).replace('_', ' ')}"
    seconds = state.get("measured_s") or 0.0
    line = f"{label}: {completed:,} of {expected:,} entries"
    if completed and seconds > 0:
        rate = completed / seconds
        line += f", {rate:,.1f} entries/s, {_spelt((expected - completed) / rate)} left"
    return line


def show(screen: TextIO, text: str) -> None:
    """Write to the screen; one that is gone (a closed terminal, a dead pipe) ends no pass."""
    try:
        screen.write(text)
        screen.flush()
    except OSError:
        # Else Python tries again as it ends, and ends with a code that says the job failed.
        with suppress(OSError), Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), screen.fileno())


def ended_line(label: str, record: dict) -> str:
    """Return the line that stays on the screen when an attempt has ended."""
    if record["status"] != "ok":
        done, expected = record["entries_completed"], record["entries_expected"]
        part = f" after {done:,} of {expected:,} entries" if expected else ""
        return f"{label}: {record['status']}{part}: {str(record['reason']).splitlines()[0]}"
    span, wall = record["main_time_s"], record["wall_time_s"]
    return (
        f"{label}: {record['entries_completed']:,} entries in {span:.2f} s "
        f"({wall - span:.1f} s around it)"
    )


def _spelt(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
