"""Several processes that share one pass: started together, released together, waited for together.

The leader is the attempt's worker; it computes the first share itself. Each further member is
`python -m atpar.engine.crew JOB.json NUMBER`: it gets ready, says so on its standard output, waits
for a line on its standard input, computes its share, and tells what it did. All write their scores
into the same two mapped files. The pass's clock runs in the leader, from the release to the last
answer.
"""

import json
import os
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atpar.engine.clocks import Phases
from atpar.engine.corpus import count_entries
from atpar.engine.job import Job
from atpar.engine.outcome import (
    Outcome,
    oom_kill_count,
    outcome_of_exception,
    outcome_of_exit,
)
from atpar.engine.parents import die_with_parent
from atpar.engine.part import Part
from atpar.engine.refused import Refused
from atpar.engine.results import Scores
from atpar.engine.span import Work
from atpar.journal.attempts import log_tail
from atpar.model.heads import read_head


class MemberFailed(Exception):
    """A member of the crew ended before its share was done; `outcome` is its own."""

    def __init__(self, number: int, outcome: Outcome) -> None:
        super().__init__(f"process {number + 1}: {outcome.reason}")
        self.outcome = Outcome(outcome.status, str(self))


class Crew:
    """The members beside the leader."""

    def __init__(self, job: Job, path: Path) -> None:
        command = [sys.executable, "-m", "atpar.engine.crew", str(path)]
        self._folder = Path(job.folder)
        self._oom_kills = oom_kill_count()
        self._members = [
            subprocess.Popen(
                [*command, str(number), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(1, job.processes)
        ]

    @property
    def processes(self) -> list[int]:
        """The process ids of the members."""
        return [member.pid for member in self._members]

    def wait_until_ready(self) -> None:
        """Return when every member has its model warm."""
        for number in range(len(self._members)):
            self._answer(number)

    def release(self) -> None:
        """Let all members begin."""
        for number, member in enumerate(self._members):
            try:
                member.stdin.write("go\n")
                member.stdin.flush()
            except BrokenPipeError:
                self._answer(number)

    def results(self) -> list[dict[str, Any]]:
        """Return the work that each member did, once the last has done it."""
        return [self._answer(number) for number in range(len(self._members))]

    def described(self) -> list[dict[str, Any]]:
        """Return each member's memory and device, which it looks at after its work."""
        return [self._answer(number) for number in range(len(self._members))]

    def _answer(self, number: int) -> dict[str, Any]:
        member = self._members[number]
        line = member.stdout.readline()
        if not line:
            code, now = member.wait(), oom_kill_count()
            unknown = now is None or self._oom_kills is None
            grown = None if unknown else now - self._oom_kills
            outcome = outcome_of_exit(code, grown, log_tail(self._folder))
            raise MemberFailed(number + 1, outcome)
        answer = json.loads(line)
        if "status" in answer:
            raise MemberFailed(number + 1, Outcome(answer["status"], answer["reason"]))
        return answer


def merged(work: Work, others: list[dict[str, Any]], elapsed_s: float) -> Work:
    """Return the work of all members together; the time is the leader's clock, nothing added."""
    for other in others:
        for field in ("entries", "tokens_real", "tokens_padded", "truncated", "batches"):
            setattr(work, field, getattr(work, field) + other[field])
        work.unfinite += other["unfinite"]
    work.main_time_s = elapsed_s
    work.device_time_s = None
    # Members work side by side: their stretches don't add up to the pass.
    work.marks = []
    work.overlapping = ["read", "tokenize", "transfer", "inference", "materialise"]
    return work


def member(path: Path, number: int, leader: int) -> int:
    """Do one member's share; answers go to standard output, anything else to the log."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    die_with_parent(leader)

    def say(answer: dict[str, Any]) -> None:
        with suppress(BrokenPipeError):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()

    try:
        job = Job.read(path)
        part = Part(job, number, Phases(), lambda _: None)
        part.load()
        part.get_ready(_scores(job), lambda _: None)
        part.reset_peaks()
        say({"ready": True})
        if not sys.stdin.readline():
            return 1
        # Said at once: the pass's clock waits for it, and what follows isn't the pass.
        say(asdict(part.run()))
        part.remember_peaks()
        say({"memory": part.memory, "device": part.described()})
    except Refused as error:
        say({"status": "refused", "reason": str(error)})
        return 1
    except BaseException as error:
        outcome = outcome_of_exception(error)
        traceback.print_exc()
        say({"status": outcome.status, "reason": outcome.reason})
        return 1
    return 0


def _scores(job: Job) -> Scores:
    """Map the scores that the leader has made; it makes them before anything is computed."""
    head = read_head(Path(job.inputs.labels), job.protocol)
    entries = count_entries(Path(job.inputs.corpus))
    deadline = time.monotonic() + 60
    while not Scores.are_made(Path(job.folder)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return Scores(Path(job.folder), entries, len(head.labels), create=False)


if __name__ == "__main__":
    code = member(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    sys.stderr.flush()
    os._exit(code)
