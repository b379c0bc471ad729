"""The process that computes one attempt: `python -m atpar.engine.worker JOB.json`.

It alone imports torch. It leaves `result.json` in the attempt's folder for every end that Python
can see; the supervisor reads the others off the exit code. Imports up here stay light, so that the
phase `import` holds what a pass costs.
"""

import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atpar.canonical import write_json
from atpar.engine.backends import backend_of, read_json
from atpar.engine.batching import Grouping, Padding
from atpar.engine.clocks import Phases
from atpar.engine.conditions import Conditions
from atpar.engine.corpus import count_entries, spread_over_lengths, windows
from atpar.engine.devices import Device, counted
from atpar.engine.job import Job
from atpar.engine.lock import DeviceInUse, lock_device
from atpar.engine.memory import peak_rss_bytes, reset_peak_rss
from atpar.engine.outcome import outcome_of_exception
from atpar.engine.parents import die_with_parent
from atpar.engine.progress import Progress
from atpar.engine.refused import Refused
from atpar.engine.results import Scores, write_predictions
from atpar.engine.span import Plan, Span, Work
from atpar.engine.tokens import Encoder, usable_length
from atpar.engine.weights import verify_files

WINDOW = 4096
"""Entries read and tokenized at a time in corpus order: the host's memory stays flat."""


@dataclass
class Attempt:
    """What is known of the attempt so far; written as result.json however it ends."""

    job: Job
    phases: Phases = field(default_factory=Phases)
    facts: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, int | None] = field(default_factory=dict)
    memory_reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Path(self.job.folder)
        self.progress = Progress(self.folder)

    def remember(self, values: dict[str, int | None], reasons: dict[str, str]) -> None:
        """Keep memory figures, each with the reason if it is missing."""
        self.memory.update(values)
        self.memory_reasons.update(reasons)

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
                "memory": self.memory,
                "memory_reasons": self.memory_reasons,
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
        _run(attempt)
    except (Refused, DeviceInUse) as error:
        attempt.write("refused", str(error))
        return 1
    except BaseException as error:
        outcome = outcome_of_exception(error)
        traceback.print_exc()
        attempt.write(outcome.status, outcome.reason)
        return 1
    attempt.progress.enter("done")
    attempt.write("ok", None)
    return 0


def _run(attempt: Attempt) -> None:
    job, progress = attempt.job, attempt.progress
    environment = read_json(job.inputs.environment)
    fingerprint = read_json(job.inputs.fingerprint)
    expected = environment["device"]
    # The descriptor is never closed: the lock is to die with this process and no sooner.
    lock_device(Path(job.lock_folder), expected["uuid"] or expected["kind"])
    verify_files(fingerprint)
    progress.expected = count_entries(Path(job.inputs.corpus))
    conditions = Conditions()

    backend = backend_of(job, fingerprint, expected)
    progress.enter("import")
    with backend.start_up():
        device = backend.open()
        attempt.phases.add("import", time.monotonic() - job.spawned_s)
        attempt.facts["device"] = {"kind": device.kind, "name": device.name, "uuid": device.uuid}
        attempt.facts["threads_used"] = job.threads

        progress.enter("load")
        device.reset_peaks()
        with attempt.phases.timed("load"):
            encoder = _encoder(job, fingerprint)
            classifier = backend.load(device)
            device.synchronise()
    attempt.facts["attention_used"] = classifier.attention_used
    attempt.facts["dtype_used"] = classifier.dtype_used
    attempt.memory["parameter_bytes"] = classifier.parameter_bytes
    attempt.remember(*device.peaks("load"))

    conditions.before(device)
    busy = conditions.busy(device)
    if busy and job.protocol["busy_device"] == "refuse":
        raise Refused(f"the device is busy: {busy}")
    if busy:
        attempt.notes.append(f"busy device: {busy}")

    labels = read_json(job.inputs.labels)["labels"]
    scores = Scores(attempt.folder, progress.expected, len(labels))
    span = _span(attempt, device, encoder, classifier, scores)
    _start(attempt, span, classifier)
    before = classifier.graphs
    work = _measure(attempt, span, conditions)
    _tell_compiled(attempt, classifier, before)
    _check_complete(progress, scores, work)

    progress.enter("write")
    corpus = Path(job.inputs.corpus)
    write_predictions(attempt.folder / "predictions.parquet", corpus, labels, scores)
    scores.remove()


def _encoder(job: Job, fingerprint: dict[str, Any]) -> Encoder:
    settings = read_json(job.inputs.tokenizer_settings)
    limit = usable_length(
        job.variant["max_length"], fingerprint.get("usable_length"), settings["model_max_length"]
    )
    if limit is None:
        raise Refused("no longest input is known for this model; state max_length in the variant")
    side = job.variant["truncation_side"] or settings.get("truncation_side") or "right"
    types = "token_type_ids" in settings["input_names"]
    return Encoder(Path(job.inputs.tokenizer), limit, side, types)


def _span(
    attempt: Attempt, device: Device, encoder: Encoder, classifier: Any, scores: Scores
) -> Span:
    variant = attempt.job.variant
    settings = read_json(attempt.job.inputs.tokenizer_settings)
    padding = Padding(
        token_id=read_json(attempt.job.inputs.fingerprint)["pad_token_id"],
        side=variant["pad_side"] or settings.get("padding_side") or "right",
        fixed=encoder.max_length if variant["padding"] == "max_length" else None,
        multiple=variant["pad_multiple"] or 1,
        limit=encoder.max_length,
    )
    grouping = Grouping(variant["batch_size"], variant["token_budget"], variant["order"])
    return Span(
        plan=Plan(
            grouping=grouping,
            padding=padding,
            window=variant["window"] if variant["order"] == "length" else WINDOW,
        ),
        encode=encoder.encode,
        classify=classifier,
        device=device,
        put=scores.put,
        advance=attempt.progress.advance,
        phases=attempt.phases,
    )


def _start(attempt: Attempt, span: Span, classifier: Any) -> None:
    """Compile, if the variant compiles, and warm up by the one rule of all variants [P13].

    Compiling is a run over the warm-up's entries of its own, so that it is timed apart and the
    warm-up that follows is the same for all.
    """
    rule = attempt.job.protocol["warm_up"]
    texts = spread_over_lengths(Path(attempt.job.inputs.corpus), rule["entries"])
    aside = Span(**{**span.__dict__, "put": _drop, "advance": _drop, "phases": Phases()})
    window = [(0, texts)]
    if classifier.compiles:
        attempt.progress.enter("compile")
        with attempt.phases.timed("compile"):
            aside.run(window)
    else:
        attempt.phases.untimed("compile", "the variant compiles nothing")
    attempt.progress.enter("warm_up")
    span.device.reset_peaks()
    with attempt.phases.timed("warm_up"):
        for _ in range(rule["passes"] if texts else 0):
            aside.run(window)
    attempt.remember(*span.device.peaks("warm_up"))
    attempt.memory["peak_host_rss_start_up_bytes"] = peak_rss_bytes()


def _drop(*_: Any) -> None:
    """Warm-up results are thrown away; that it was done is in the record."""


def _measure(attempt: Attempt, span: Span, conditions: Conditions) -> Work:
    reset = reset_peak_rss()
    span.device.reset_peaks()
    attempt.progress.enter("measured")
    conditions.start(span.device)
    try:
        work = span.run(windows(Path(attempt.job.inputs.corpus), span.plan.window))
    finally:
        attempt.facts["conditions"] = conditions.stop(span.device)
        _remember_peaks(attempt, span.device, reset)
    attempt.facts |= {
        "main_time_s": work.main_time_s,
        "entries_completed": work.entries,
        "tokens_real": work.tokens_real,
        "tokens_padded": work.tokens_padded,
        "entries_truncated": work.truncated,
        "overlapping_phases": work.overlapping,
        "device_time_s": work.device_time_s,
        "batches": work.batches,
    }
    if work.unfinite:
        attempt.notes.append(
            f"{work.unfinite} entries have a logit that is NaN or infinite: no label is predicted"
        )
    return work


def _remember_peaks(attempt: Attempt, device: Device, reset: bool) -> None:
    on_device = attempt.memory["parameter_bytes"] if device.kind != "cpu" else 0
    attempt.remember(*counted(device.peaks("measured"), on_device or 0))
    attempt.remember(*device.used_by_process())
    name = "peak_host_rss_measured_bytes"
    attempt.memory[name] = peak_rss_bytes() if reset else None
    if not reset:
        attempt.memory_reasons[name] = "the kernel doesn't let this process reset its peak"


def _tell_compiled(attempt: Attempt, classifier: Any, before: int | None) -> None:
    """Record graphs compiled before and, as a fault of the warm-up, within the span [P13]."""
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
