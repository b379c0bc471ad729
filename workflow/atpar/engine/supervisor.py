"""One attempt at a pass, from the journal's `started` to its `finished`.

Light: torch is imported by the worker alone, a process of its own, whose end of whatever kind
becomes a record. A pass that fails is a row, not a failed job.
"""

import json
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atpar.canonical import file_digest, whole_file, write_json
from atpar.engine.clocks import WallAndMonotonic
from atpar.engine.compiler_cache import compiler_cache
from atpar.engine.cpus import usable_cpus
from atpar.engine.job import Inputs, Job, worker_environment
from atpar.engine.launch import Ended, Interrupted, Launch
from atpar.engine.lock import lock_folder
from atpar.engine.outcome import Outcome, oom_kill_count, outcome_of_exit, signal_of
from atpar.engine.packages import computing
from atpar.engine.parents import session_id, snakemake_above
from atpar.engine.progress import ended_line, show
from atpar.engine.record import finished_record, judged, started_record
from atpar.errors import AtparError
from atpar.journal import journal
from atpar.journal.attempts import (
    alive,
    left_behind,
    log_tail,
    next_number,
    read_progress,
    reconcile,
)
from atpar.protocol.software import versions

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Pass:
    """One pass and its files; paths are relative to the working directory."""

    settings: Mapping[str, Any]
    """`variant`, `offer`, `protocol`, `campaign`: what the pass depends on."""
    inputs: Inputs
    repetition: int
    place: Mapping[str, int]
    """Its place in the schedule: rank, round, position."""
    results: Path
    """The campaign's folder."""
    record: Path
    predictions: Path
    lock_folder: str | None = None

    @property
    def offer(self) -> str:
        return self.settings["offer"]["offer"]

    @property
    def variant(self) -> str:
        return self.settings["variant"]["variant"]

    @property
    def label(self) -> str:
        """How it is named on the screen."""
        return f"{self.offer}/{self.variant}, repetition {self.repetition}"

    @property
    def journal(self) -> Path:
        return self.results / "journal" / f"{self.offer}.jsonl"

    def folder(self, number: int) -> Path:
        """The folder of one attempt; it is kept for ever."""
        return self.results / "attempts" / self.offer / self.variant / f"{self.repetition}-{number}"


def measure_pass(one: Pass) -> dict[str, Any]:
    """Make one attempt at a pass, write its record and predictions, and return the record.

    Raises AtparError when the journal can't be written, and SystemExit when a person or the end of
    Snakemake interrupts it: the attempt is recorded, and the pass is still to be measured.
    """
    record_interrupted(one)
    clock = WallAndMonotonic()
    number = next_number(one.journal, one.variant, one.repetition)
    folder = one.folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    snakemake = snakemake_above()
    with _held(folder) as lock, _interruptions():
        record = started_record(
            one.settings,
            one.inputs,
            repetition=one.repetition,
            number=number,
            place=one.place,
            session=session_id(snakemake),
            software=versions(computing(one.settings["variant"])),
            clock=clock,
        )
        event = {"attempt_id": record["attempt_id"]}
        journal.append(one.journal, {**event, "event": "started", "record": record})
        try:
            finished = _attempt(one, record, folder, lock, snakemake, clock)
            finished = _published(one, finished, folder)
        except Interrupted as stop:
            finished = _stopped(one, record, folder, stop, clock)
            journal.append(one.journal, {**event, "event": "finished", "record": finished})
            raise SystemExit(f"{one.offer}/{one.variant}/{one.repetition}: {stop}") from None
        journal.append(one.journal, {**event, "event": "finished", "record": finished})
        write_json(one.record, finished)
    show(sys.stderr, ended_line(one.label, finished) + "\n")
    return finished


def _stopped(
    one: Pass, record: Mapping[str, Any], folder: Path, stop: Interrupted, clock: WallAndMonotonic
) -> dict[str, Any]:
    """Return the record of an attempt that a person or a scheduler ended."""
    # Asked twice, it ends no sooner, and its row would have to wait for the next start.
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    outcome = Outcome("interrupted", str(stop))
    finished = finished_record(record, outcome, {}, read_progress(folder), clock)
    finished |= left_behind(folder)
    with suppress(OSError):
        finished |= _salvaged(one, folder)
    return finished


def record_interrupted(one: Pass) -> None:
    """Record attempts of the pass's offer that were killed together with their supervisor."""

    def folder_of(record: Mapping[str, Any]) -> Path:
        name = f"{record['repetition']}-{record['attempt_number']}"
        return one.results / "attempts" / one.offer / record["variant"] / name

    def salvage(_: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        return _salvaged(one, folder)

    reconcile(one.journal, folder_of, salvage)


def _attempt(
    one: Pass,
    record: Mapping[str, Any],
    folder: Path,
    lock: int,
    snakemake: int | None,
    clock: WallAndMonotonic,
) -> dict[str, Any]:
    """Run the worker to its end and return the record that tells of it."""
    protocol, offer = one.settings["protocol"], one.settings["offer"]
    threads = (offer["threads"] or usable_cpus()) // one.settings["variant"]["processes"]
    kills = oom_kill_count()
    try:
        with compiler_cache(one.settings["variant"]) as cache:
            launch = Launch(
                Job(
                    attempt_id=record["attempt_id"],
                    folder=str(folder),
                    inputs=one.inputs,
                    variant=dict(one.settings["variant"]),
                    offer=dict(offer),
                    protocol=dict(protocol),
                    lock_folder=str(lock_folder(one.lock_folder).resolve()),
                    threads=threads,
                    seed=record["seed"],
                    environment=worker_environment(threads, protocol["deterministic"]) | cache,
                ),
                label=one.label,
                timeout_s=protocol["pass_timeout_s"],
                snakemake=snakemake,
                screen=sys.stderr,
            )
            ended = launch.run(pass_on=lock)
    except OSError as error:
        ended = Ended(None, timed_out=False)
        result, outcome = {}, Outcome("error", f"the worker couldn't be started: {error}")
    else:
        result = _result(folder)
        outcome = _outcome(ended, result, kills, folder, protocol["pass_timeout_s"])
    finished = finished_record(record, outcome, result, read_progress(folder), clock)
    code = ended.returncode
    finished |= {
        "exit_code": None if code is None or code < 0 else code,
        "signal": -code if code is not None and code < 0 else None,
        **left_behind(folder),
    }
    if outcome.status == "ok":
        finished["log_tail"] = []
    return finished


def _outcome(
    ended: Ended, result: Mapping[str, Any], kills: int | None, folder: Path, limit_s: float
) -> Outcome:
    if ended.timed_out:
        return Outcome("timeout", f"ended after {limit_s:g} s (protocol.pass_timeout_s)")
    # A result of a worker that was then killed isn't a pass that ended.
    if "status" in result and signal_of(ended.returncode) is None:
        return Outcome(result["status"], result["reason"])
    now = oom_kill_count()
    grown = None if kills is None or now is None else now - kills
    return outcome_of_exit(ended.returncode, grown, log_tail(folder))


def _published(one: Pass, record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Copy the attempt's predictions to the pass's file; a full disk makes a failed attempt."""
    kept = folder / "predictions.parquet"
    try:
        if record["status"] != "ok":
            record = {**record, **_salvaged(one, folder)}
        with whole_file(one.predictions) as temporary:
            shutil.copyfile(kept, temporary)
        return {
            **record,
            "predictions_path": str(kept),
            "predictions_digest": file_digest(one.predictions),
        }
    except OSError as error:
        failed = {
            **record,
            "status": "error" if record["status"] == "ok" else record["status"],
            "phase": "write",
            "reason": record["reason"] or f"predictions can't be written: {error.strerror}",
        }
        from atpar.engine.salvage import write_none

        # On a disk that is really full this fails too: then the job fails, and the row stays.
        with suppress(OSError):
            write_none(one.predictions, one.inputs, one.settings["protocol"])
        return judged(failed)


def _salvaged(one: Pass, folder: Path) -> dict[str, Any]:
    from atpar.engine.salvage import salvaged

    return salvaged(folder, one.inputs, one.settings["protocol"])


def _result(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


@contextmanager
def _held(folder: Path) -> Iterator[int]:
    try:
        with alive(folder) as lock:
            yield lock
    except BlockingIOError:
        raise AtparError(f"{folder}: another process is making this attempt just now") from None


@contextmanager
def _interruptions() -> Iterator[None]:
    """Turn the signals by which people and schedulers stop a job into `Interrupted`."""

    def stop(number: int, _: Any) -> None:
        raise Interrupted(f"interrupted ({signal.Signals(number).name})")

    # What is ignored from the start is meant to be: `nohup` does it to outlive its terminal.
    caught = [one for one in STOPPING if signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
