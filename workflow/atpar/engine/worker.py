"""The process that computes one attempt: `python -m atpar.engine.worker JOB.json`.

It alone imports torch. It leaves `result.json` in the attempt's folder for every end that Python
can see; the supervisor reads the others off the exit code. Imports up here stay light: what
takes seconds to import falls into the phase `import`.
"""

import os
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atpar.canonical import write_json
from atpar.engine.backends import read_json
from atpar.engine.clocks import Phases
from atpar.engine.conditions import Conditions, disturbances
from atpar.engine.corpus import count_entries
from atpar.engine.crew import Crew, MemberFailed, merged
from atpar.engine.job import Job
from atpar.engine.lock import DeviceInUse, lock_device
from atpar.engine.outcome import outcome_of_exception
from atpar.engine.parents import die_with_parent
from atpar.engine.part import Part
from atpar.engine.progress import Progress
from atpar.engine.refused import Refused
from atpar.engine.results import Scores, write_predictions
from atpar.engine.resume import TakenOver, take_over
from atpar.engine.span import Work
from atpar.engine.weights import verify_export, verify_files
from atpar.model.heads import read_head


@dataclass
class Attempt:
    """What is known of the attempt so far; written as result.json however it ends."""

    job: Job
    phases: Phases = field(default_factory=Phases)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    part: Part | None = None
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Path(self.job.folder)
        self.progress = Progress(self.folder)

    def write(self, status: str, reason: str | None) -> None:
        """Write result.json whole."""
        seconds, reasons = self.phases.record()
        write_json(
            self.folder / "result.json",
            {
                **self.facts,
                "status": status,
                "reason": reason,
                "phase": self.progress.phase,
                "phases_s": seconds,
                "phase_reasons": reasons,
                "memory": self.part.memory if self.part else {},
                "memory_reasons": self.part.memory_reasons if self.part else {},
                "notes": self.notes,
            },
        )


def main(arguments: list[str]) -> int:
    """Run the job and return the exit code: 0 if the pass is complete."""
    job = Job.read(Path(arguments[0]))
    die_with_parent(job.parent)
    attempt = Attempt(job)
    attempt.progress.enter("start")
    try:
        _run(attempt, Path(arguments[0]))
    except (Refused, DeviceInUse) as error:
        attempt.write("refused", str(error))
        return 1
    except MemberFailed as error:
        attempt.write(error.outcome.status, error.outcome.reason)
        return 1
    except BaseException as error:
        outcome = outcome_of_exception(error)
        traceback.print_exc()
        attempt.write(outcome.status, outcome.reason)
        return 1
    attempt.progress.enter("done")
    attempt.write("ok", None)
    return 0


def _run(attempt: Attempt, path: Path) -> None:
    job, progress = attempt.job, attempt.progress
    if job.threads < 1:
        raise Refused(f"{job.processes} processes can't share fewer threads than that")
    take_devices(job)
    verify_files(read_json(job.inputs.fingerprint))
    if job.variant["backend"] == "onnxruntime":
        attempt.facts["exported_digest"] = verify_export(Path(job.inputs.onnx))
    progress.expected = count_entries(Path(job.inputs.corpus))
    conditions = Conditions()
    conditions.look_at_devices(_cards(job))
    crew = Crew(job, path)
    conditions.members = crew.processes
    part = Part(job, 0, attempt.phases, progress.enter)
    attempt.part = part
    part.load()
    attempt.facts |= {
        "device": part.described(),
        "threads_used": job.threads * job.processes,
        "in_effect": part.classifier.in_effect,
        "attention_used": part.classifier.attention_used,
        "dtype_used": part.classifier.dtype_used,
    }
    _look_around(attempt, conditions)

    head = read_head(Path(job.inputs.labels), job.protocol)
    scores = Scores(attempt.folder, progress.expected, len(head.labels))
    progress.count = (lambda: scores.completed) if job.processes > 1 else None
    resumed = None
    if job.variant["resume"]:
        resumed = take_over(job.inputs, list(head.labels), scores)
        part.taken = scores.done.copy()
        progress.completed = resumed.entries
    part.get_ready(scores, progress.advance)
    crew.wait_until_ready()
    before = part.classifier.graphs
    work = _measure(attempt, crew, conditions)
    _tell_compiled(attempt, before)
    if resumed is not None:
        _add_resumed(attempt, work, resumed)
    _check_complete(progress, scores, work)

    progress.enter("write")
    corpus = Path(job.inputs.corpus)
    write_predictions(attempt.folder / "predictions.parquet", corpus, head, scores)
    scores.remove()


def take_devices(job: Job) -> None:
    """Lock every device that the pass computes on, so that no other pass shares it.

    The descriptors are never closed: the locks are to die with this process and no sooner.
    """
    device = read_json(job.inputs.environment)["device"]
    if device["kind"] == "cpu":
        lock_device(Path(job.lock_folder), "cpu")
        return
    if job.processes > device["count"]:
        raise Refused(f"{job.processes} processes need as many GPUs; there are {device['count']}")
    for number, one in enumerate(_cards(job)):
        lock_device(Path(job.lock_folder), one["uuid"] or f"{one['kind']}-{number}")


def _cards(job: Job) -> list[dict[str, Any]]:
    """Return the GPUs (of environment.json) that the pass computes on, none on a CPU."""
    device = read_json(job.inputs.environment)["device"]
    return device["devices"][: job.cards_of(device["count"])]


def _look_around(attempt: Attempt, conditions: Conditions) -> None:
    """Note what else uses the machine, or refuse to start beside it, as the protocol says."""
    job, device = attempt.job, attempt.part.device
    conditions.before()
    busy, why = conditions.busy(device)
    if busy is not False and job.protocol["busy_device"] == "refuse":
        raise Refused(f"the device isn't known to be idle (protocol.busy_device): {why}")
    if busy is not False:
        attempt.notes.append(f"busy device: {why}" if busy else why)
    count = read_json(job.inputs.environment)["device"]["count"]
    used = job.cards_of(count)
    if device.kind != "cpu" and used < count:
        attempt.notes.append(f"{used} of {count} GPUs are used")


def _measure(attempt: Attempt, crew: Crew, conditions: Conditions) -> Work:
    part = attempt.part
    part.reset_peaks()
    attempt.progress.enter("measured")
    conditions.start(_cards(attempt.job))
    start = time.perf_counter()
    try:
        crew.release()
        work = part.run()
        others = crew.results()
        elapsed = time.perf_counter() - start
    finally:
        attempt.facts["conditions"] = conditions.stop(time.perf_counter() - start)
        attempt.notes.extend(disturbances(attempt.facts["conditions"]))
        part.remember_peaks()
    if others:
        work = merged(work, others, elapsed)
        attempt.facts["members"] = crew.described()
        attempt.notes.append(
            f"{attempt.job.processes} processes; phases and memory are those of the first, the "
            "main time runs from the common start to the last prediction"
        )
    attempt.facts |= {
        "main_time_s": work.main_time_s,
        "entries_completed": work.entries,
        "tokens_real": work.tokens_real,
        "tokens_padded": work.tokens_padded,
        "entries_truncated": work.truncated,
        "overlapping_phases": work.overlapping,
        "device_time_s": work.device_time_s,
        "batches": work.batches,
        "marks": work.marks,
    }
    if work.unfinite:
        attempt.notes.append(
            f"{work.unfinite} entries have a logit that is NaN or infinite: no label is predicted"
        )
    return work


def _add_resumed(attempt: Attempt, work: Work, resumed: TakenOver) -> None:
    """Add what was taken over of another attempt to what was computed, each by its own name."""
    tokens, truncated = attempt.part.count_taken_over()
    work.entries += resumed.entries
    attempt.facts |= {
        "resumed": asdict(resumed),
        "main_time_s": resumed.span_s + work.main_time_s,
        "entries_completed": work.entries,
        "tokens_real": work.tokens_real + tokens,
        # How the other attempt padded isn't known.
        "tokens_padded": None,
        "entries_truncated": work.truncated + truncated,
        "marks": [],
    }
    attempt.notes.append(resumed.note())


def _tell_compiled(attempt: Attempt, before: int | None) -> None:
    """Record graphs compiled before and, as a fault of the warm-up, within the span [P13]."""
    classifier = attempt.part.classifier
    attempt.notes.extend(classifier.notes)
    if before is None:
        return
    within = classifier.graphs - before
    attempt.facts |= {"graphs_compiled": before, "recompilations_measured": within}
    if within:
        attempt.notes.append(f"{within} graphs were compiled within the measured span")


def _check_complete(progress: Progress, scores: Scores, work: Work) -> None:
    if scores.completed != progress.expected or work.entries != progress.expected:
        raise RuntimeError(
            f"{work.entries} of {progress.expected} entries were computed, {scores.completed} of "
            "them have scores: the corpus changed while it was read"
        )


if __name__ == "__main__":
    # Threads of libraries may hang at exit; everything is on disk by now.
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
