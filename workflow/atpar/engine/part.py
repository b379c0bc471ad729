"""One process's part of a pass: its device, its model, and its share of the corpus."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from atpar.engine.backends import backend_of, read_json
from atpar.engine.batching import Grouping, Padding
from atpar.engine.clocks import Phases
from atpar.engine.corpus import share, spread_over_lengths, windows
from atpar.engine.devices import Device, counted
from atpar.engine.feeding import Plan
from atpar.engine.job import Job
from atpar.engine.lean import arrays_without_pandas
from atpar.engine.memory import peak_rss_bytes, reset_peak_rss
from atpar.engine.refused import Refused
from atpar.engine.results import Scores
from atpar.engine.resume import left
from atpar.engine.span import Span, Work
from atpar.engine.tokens import Encoder, usable_length
from atpar.model.heads import read_head

WINDOW, WINDOW_AHEAD = 4096, 256
"""Entries read and tokenized at a time in corpus order, so that the host's memory stays flat; fewer
for a device that computes the first batches meanwhile."""


class Part:
    """Everything from import to the measured span, the same for one process and for several."""

    def __init__(self, job: Job, member: int, phases: Phases, enter: Callable[[str], None]) -> None:
        self.job, self.member, self.phases, self.enter = job, member, phases, enter
        self.variant = job.variant
        self.memory: dict[str, int | None] = {}
        self.memory_reasons: dict[str, str] = {}
        self.taken: np.ndarray | None = None
        """A flag for each entry that another attempt has computed; None: nothing is resumed."""
        self.device: Device
        self._stay_on_own_cpus()

    def _stay_on_own_cpus(self) -> None:
        """Give each of several processes CPUs of its own: they never wait for each other's."""
        if self.job.processes == 1:
            return
        usable = sorted(os.sched_getaffinity(0))
        first = self.member * self.job.threads
        own = usable[first : first + self.job.threads]
        if len(own) == self.job.threads:
            os.sched_setaffinity(0, own)

    def load(self) -> None:
        """Import what computes and load tokenizer and model: the phases `import` and `load`."""
        fingerprint = read_json(self.job.inputs.fingerprint)
        expected = read_json(self.job.inputs.environment)["device"]
        backend = backend_of(self.job, fingerprint, expected, self.member)
        arrays_without_pandas()
        begun = time.monotonic()
        self.phases.add("start", begun - self.job.spawned_s)
        self.enter("import")
        with backend.start_up():
            self.device = backend.open()
            self.phases.add("import", time.monotonic() - begun)
            self.enter("load")
            self.device.reset_peaks()
            with self.phases.timed("load"):
                self.encoder = _encoder(self.job, fingerprint)
                self.classifier = backend.load(self.device, self.encoder.max_length)
                self.device.synchronise()
        self.pad_token_id = fingerprint["pad_token_id"]
        self.memory["parameter_bytes"] = self.classifier.parameter_bytes
        self._remember(self.device.peaks("load"))
        self.device.trim()

    def _remember(self, found: tuple[dict[str, int | None], dict[str, str]]) -> None:
        self.memory.update(found[0])
        self.memory_reasons.update(found[1])

    def get_ready(self, scores: Scores, advance: Callable[[int], None]) -> None:
        """Compile, if the variant compiles, and warm up by the one rule of all variants [P13].

        Compiling is a run over the warm-up's entries of its own, so that it is timed apart and
        the warm-up that follows is the same for all.
        """
        self.span = self._span(scores, advance)
        rule = self.job.protocol["warm_up"]
        texts = spread_over_lengths(Path(self.job.inputs.corpus), rule["entries"])
        aside = replace(self.span, put=_drop, advance=_drop, phases=Phases())
        window = [(np.arange(len(texts)), texts)]
        if self.classifier.compiles:
            self.enter("compile")
            self.device.reset_peaks()
            with self.phases.timed("compile"):
                aside.run(window)
            self._remember(self.device.peaks("compile"))
            self.device.trim()
        else:
            self.phases.untimed("compile", "the variant compiles nothing")
        self.enter("warm_up")
        self.device.reset_peaks()
        with self.phases.timed("warm_up"):
            for _ in range(rule["passes"] if texts else 0):
                aside.run(window)
        self._remember(self.device.peaks("warm_up"))
        self.memory["peak_host_rss_start_up_bytes"] = peak_rss_bytes()

    def _span(self, scores: Scores, advance: Callable[[int], None]) -> Span:
        variant, longest = self.variant, self.encoder.max_length
        settings = read_json(self.job.inputs.tokenizer_settings)
        padding = Padding(
            token_id=self.pad_token_id,
            side=variant["pad_side"] or settings.get("padding_side") or "right",
            fixed=longest if variant["padding"] == "max_length" else None,
            multiple=variant["pad_multiple"] or 1,
            limit=longest,
            packed=variant["padding"] == "none",
        )
        return Span(
            plan=Plan(
                Grouping(variant["batch_size"], variant["token_budget"], variant["order"]),
                padding,
            ),
            encode=self.encoder.encode,
            classify=self.classifier,
            device=self.device,
            put=scores.put,
            scores_of=read_head(Path(self.job.inputs.labels), self.job.protocol).scores,
            advance=advance,
            phases=self.phases,
        )

    def reset_peaks(self) -> None:
        """Set all peaks back, just before the measured span."""
        self._reset = reset_peak_rss()
        self.device.reset_peaks()

    def run(self) -> Work:
        """Compute this part's share of the corpus: the measured span."""
        size = WINDOW_AHEAD if self.device.asynchronous else WINDOW
        if self.variant["order"] == "length":
            size = self.variant["window"]
        everything = windows(Path(self.job.inputs.corpus), size)
        if self.taken is not None:
            everything = left(everything, self.taken)
        return self.span.run(share(everything, self.member, self.job.processes))

    def count_taken_over(self) -> tuple[int, int]:
        """Return tokens and truncated entries of what was taken over; outside every clock."""
        others = left(windows(Path(self.job.inputs.corpus), WINDOW), 1 - self.taken)
        found = [self.encoder.encode(texts) for _, texts in others]
        return (
            sum(int(one.lengths.sum()) for one in found),
            sum(one.truncated for one in found),
        )

    def remember_peaks(self) -> None:
        """Keep the peaks of the measured span, each with its scope."""
        on_device = 0 if self.device.kind == "cpu" else self.classifier.parameter_bytes
        if self.variant["device_map"]:
            on_device = 0  # Each card has a part of them, and which one isn't known here.
        self._remember(counted(self.device.peaks("measured"), on_device))
        self._remember(self.device.used_by_process())
        name = "peak_host_rss_measured_bytes"
        self.memory[name] = peak_rss_bytes() if self._reset else None
        if not self._reset:
            self.memory_reasons[name] = "the kernel doesn't let this process reset its peak"

    def described(self) -> dict[str, Any]:
        """Return the device of this part, as the record keeps it."""
        return {"kind": self.device.kind, "name": self.device.name, "uuid": self.device.uuid}


def _drop(*_: Any) -> None:
    """Warm-up results are thrown away; that it was done is in the record."""


def _encoder(job: Job, fingerprint: dict[str, Any]) -> Encoder:
    settings = read_json(job.inputs.tokenizer_settings)
    limit = usable_length(
        job.variant["max_length"], fingerprint.get("usable_length"), settings["model_max_length"]
    )
    if limit is None:
        raise Refused("no longest input is known for this model; state max_length in the variant")
    side = job.variant["truncation_side"] or settings.get("truncation_side") or "right"
    types = "token_type_ids" in settings["input_names"]
    encoder = Encoder(Path(job.inputs.tokenizer), limit, side, types)
    encoder.check(settings.get("probe_digest"))
    return encoder
