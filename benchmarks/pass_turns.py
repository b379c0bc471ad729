"""A pass and the loops beside it take turns, so that drift of the machine meets all alike.

One runs for a third of a second while the others are stopped (SIGSTOP), and so on around; what each
was stopped for is taken off the time that it tells. Two equal loops that ran one after the other
differed by up to a tenth, and by half a percent in turns.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pass_loops import Loop

from atpar.engine.cpus import CpuTimes, cpu_times, used_by_others
from atpar.engine.parents import is_running
from atpar.journal.attempts import read_progress

TURN_S = 0.3
LOOK_S = 0.02
"""How often it is looked whether the one whose turn it is has ended."""
SETTLED_S = 0.05
"""From a pass's word that its span begins to the first stop, which falls within the span then."""


@dataclass
class Racer:
    """A process whose time counts, and how long it was stopped for."""

    pid: int
    ended: Callable[[], bool]
    begin: Callable[[], None] | None = None
    """What starts it at its first turn, None for one that runs."""
    stopped_s: float = 0.0
    _since: float | None = field(init=False, default=None)

    def stop(self) -> None:
        """Stop the process, with all its threads."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)
        self._since = time.perf_counter()

    def go_on(self) -> None:
        """Let the process begin, or run on."""
        if self.begin is not None:
            self.begin()
            self.begin = None
        elif self._since is not None:
            self.stopped_s += time.perf_counter() - self._since
            self._since = None
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)


class Turns:
    """A context around a pass: while its span lasts, the loops, if any, run in turn with it.

    `folder` is that of the pass's attempt. Afterwards `stopped_s` is what the pass was stopped for,
    `seconds` those of each loop, and `others` how many CPUs other processes kept busy.
    """

    def __init__(self, folder: Path, loops: Sequence[Loop]) -> None:
        self.folder, self.loops = folder, loops
        self.stopped_s = 0.0
        self.seconds: dict[str, float] = {}
        self.others: float | None = None
        self._racers: list[Racer] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._rotate, name="turns")

    def __enter__(self) -> "Turns":
        if self.loops:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if not self.loops:
            return
        for loop in self.loops if kind is not None else ():
            # Nobody waits for the rest of them; a process that is stopped ends by this alone.
            loop.process.kill()
        self._thread.join()
        if kind is None and self._racers:
            self.seconds = {
                loop.kind: loop.answer() - racer.stopped_s
                for loop, racer in zip(self.loops, self._racers, strict=True)
            }

    def _measures(self, worker: int) -> bool:
        return read_progress(self.folder).get("phase") == "measured" and is_running(worker)

    def _rotate(self) -> None:
        while (state := read_progress(self.folder)).get("phase") != "measured":
            if self._over.wait(LOOK_S):
                return
        one = Racer(state["process"], lambda: not self._measures(state["process"]))
        time.sleep(SETTLED_S)
        before = self._cpu_times(one.pid)
        self._racers = [Racer(loop.process.pid, _answered(loop), loop.start) for loop in self.loops]
        # A span as short as that has had its turn.
        if not one.ended():
            one.stop()
        running = [*self._racers, one]
        while running:
            for racer in list(running):
                racer.go_on()
                end = time.perf_counter() + TURN_S
                while not (over := racer.ended()) and time.perf_counter() < end:
                    time.sleep(LOOK_S)
                if over:
                    running.remove(racer)
                    # What a pass does after its span is no loop's burden.
                    if racer is one:
                        self._over.wait()
                else:
                    racer.stop()
        self.others = used_by_others(before, self._cpu_times(one.pid))
        self.stopped_s = one.stopped_s

    def _cpu_times(self, worker: int) -> CpuTimes | None:
        members = [worker, *(loop.process.pid for loop in self.loops)]
        return cpu_times(time.monotonic(), members=members)


def _answered(loop: Loop) -> Callable[[], bool]:
    return lambda: bool(select.select([loop.process.stdout], [], [], 0)[0])
