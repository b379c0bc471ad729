"""Starting a worker and seeing it to its end: time limit, progress, and no orphans."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from atpar.engine.job import Job
from atpar.engine.parents import is_running
from atpar.engine.progress import progress_line, show
from atpar.journal.attempts import read_progress

POLL_S = 0.5
"""How often the supervisor looks up while a worker runs; its end is noticed at once."""
LINE_EVERY_S = 10.0
"""How often a line of progress is printed where the screen isn't a terminal."""


class Interrupted(BaseException):
    """A person, a scheduler or the end of Snakemake stops the attempt."""


@dataclass(frozen=True)
class Ended:
    """How the worker's process ended; `returncode` as Popen gives it."""

    returncode: int | None
    timed_out: bool


@dataclass
class Launch:
    """One worker. It is in a session of its own, so that a Ctrl-C reaches it through us alone."""

    job: Job
    label: str
    timeout_s: float
    snakemake: int | None
    screen: TextIO

    def run(self, pass_on: int) -> Ended:
        """Start the worker and wait for its end; `pass_on` is a descriptor that it inherits."""
        self._printed = time.monotonic()
        job = replace(self.job, parent=os.getpid(), spawned_s=time.monotonic())
        command = [sys.executable, "-m", "atpar.engine.worker", str(job.write())]
        log = Path(job.folder) / "worker.log"
        with (
            log.open("wb") as stream,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, **job.environment},
                start_new_session=True,
                pass_fds=(pass_on,),
            ) as worker,
        ):
            try:
                return self._watch(worker, job.spawned_s + self.timeout_s)
            finally:
                _end_group(worker)
                self._clear()

    def _watch(self, worker: subprocess.Popen, deadline: float) -> Ended:
        while True:
            if _has_ended(worker, min(POLL_S, max(0.0, deadline - time.monotonic()))):
                return Ended(worker.returncode, timed_out=False)
            if time.monotonic() >= deadline:
                _end_group(worker)
                return Ended(worker.returncode, timed_out=True)
            if self.snakemake is not None and not is_running(self.snakemake):
                raise Interrupted(f"Snakemake (process {self.snakemake}) is gone")
            self._show()

    def _show(self) -> None:
        now = time.monotonic()
        terminal = self.screen.isatty()
        if now - self._printed < (0.5 if terminal else LINE_EVERY_S):
            return
        self._printed = now
        line = progress_line(self.label, read_progress(Path(self.job.folder)))
        show(self.screen, f"\r\x1b[K{line}" if terminal else f"{line}\n")

    def _clear(self) -> None:
        if self.screen.isatty():
            show(self.screen, "\r\x1b[K")


def _has_ended(worker: subprocess.Popen, seconds: float) -> bool:
    """Wait so long for the worker's end, and tell whether it came.

    `Popen.wait` with a time limit wakes up eighty times a second, and each time takes a CPU from a
    pass that computes on all of them; the kernel's descriptor of a process wakes up once.
    """
    try:
        descriptor = os.pidfd_open(worker.pid)
    except OSError:
        # A kernel before 5.3, or a sandbox without this call.
        with suppress(subprocess.TimeoutExpired):
            worker.wait(seconds)
    else:
        try:
            end = select.poll()
            end.register(descriptor, select.POLLIN)
            end.poll(seconds * 1000)
        finally:
            os.close(descriptor)
    return worker.poll() is not None


def _end_group(worker: subprocess.Popen) -> None:
    """Kill the worker and the processes that it started, and wait for it."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
