"""The measured span: from reading the corpus to predictions on the host [P14].

The same function does the warm-up, over other entries, so that every variant warms up through the
very code that is measured.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from atpar.engine.batching import Batch, Grouping, Padding, pad
from atpar.engine.clocks import Phases
from atpar.engine.corpus import Window
from atpar.engine.devices import Device
from atpar.engine.results import softmax
from atpar.engine.tokens import Encoded

QUEUED = 64
"""Batches in flight on an asynchronous device before their results are fetched."""
MARKS = 64
"""Marks that a span keeps at most: when there are more, every second one is dropped."""
COMPUTING = ("transfer", "inference", "materialise")
TRANSFER_REASON = "copies are queued on the device and overlap with inference: not timed apart"


@dataclass(frozen=True)
class Plan:
    """How a variant forms its batches."""

    grouping: Grouping
    padding: Padding


@dataclass
class Work:
    """What was done in a span."""

    main_time_s: float = 0.0
    entries: int = 0
    tokens_real: int = 0
    tokens_padded: int = 0
    truncated: int = 0
    batches: int = 0
    device_time_s: float | None = None
    overlapping: list[str] = field(default_factory=list)
    unfinite: int = 0
    """Entries with a logit that is NaN or infinite."""
    marks: list[list[float]] = field(default_factory=list)
    """Along the span: entries done, tokens with padding, seconds of computing so far.

    Stretches between marks hold short and long entries in different shares, from which a forecast
    learns what an entry and what a token costs.
    """
    stride: int = 1
    """Fetches between two marks."""
    fetches: int = 0

    def mark(self, computing_s: float, last: bool = False) -> None:
        """Keep a mark after a fetch, evenly spread over what was done so far, and at the end."""
        self.fetches += not last
        done = bool(self.marks) and self.marks[-1][0] == self.entries
        if done or (self.fetches % self.stride and not last):
            return
        self.marks.append([self.entries, self.tokens_padded, round(computing_s, 6)])
        if len(self.marks) > MARKS:
            self.marks = self.marks[1::2]
            self.stride *= 2


@dataclass
class Span:
    """The parts that a span works with; each can be replaced by a stand-in in tests."""

    plan: Plan
    encode: Callable[[list[str]], Encoded]
    classify: Callable[[Any, Any, Any], Any]
    """(ids, mask or None, types or None) on the device -> logits, entries x classes.

    For packed entries their lengths, on the host, stand in the mask's place.
    """
    device: Device
    put: Callable[[np.ndarray, np.ndarray], None]
    """Keep the scores (float32) of the entries at these rows."""
    advance: Callable[[int], None]
    """Told how many further entries have their predictions on the host."""
    phases: Phases
    clock: Callable[[], float] = time.perf_counter

    def run(self, windows: Iterable[Window]) -> Work:
        """Compute all windows and return what was done; the clock is bounded by waits [P15]."""
        work = Work()
        self.device.synchronise()
        start = self.clock()
        before = self.device.mark()
        reading = iter(windows)
        while (window := self._timed("read", next, reading, None)) is not None:
            self._window(*window, work)
        after = self.device.mark()
        self.device.synchronise()
        work.mark(self._computing_s(), last=True)
        work.main_time_s = self.clock() - start
        if before is not None:
            work.device_time_s = self.device.between(before, after)
            work.overlapping = ["transfer", "inference"]
            self.phases.untimed("transfer", TRANSFER_REASON)
        return work

    def _window(self, rows: np.ndarray, texts: list[str], work: Work) -> None:
        if not texts:
            return
        encoded = self._timed("tokenize", self.encode, texts)
        work.truncated += encoded.truncated
        pending: list[tuple[np.ndarray, Any]] = []
        for members in self.plan.grouping.batches(encoded.lengths, self.plan.padding):
            batch = self._timed("tokenize", self._batch, rows, members, encoded)
            inputs = self._timed("transfer", self._upload, batch)
            pending.append((batch.rows, self._timed("inference", self.classify, *inputs)))
            work.batches += 1
            work.tokens_real += batch.tokens
            work.tokens_padded += batch.ids.size
            if not self.device.asynchronous or len(pending) == QUEUED:
                self._finish(pending, work)
        self._finish(pending, work)

    def _finish(self, pending: list[tuple[np.ndarray, Any]], work: Work) -> None:
        if pending:
            self._timed("materialise", self._fetch, pending, work)
            work.mark(self._computing_s())

    def _computing_s(self) -> float:
        return sum(self.phases.seconds.get(phase, 0.0) for phase in COMPUTING)

    def _batch(self, rows: np.ndarray, members: np.ndarray, encoded: Encoded) -> Batch:
        types = None if encoded.types is None else [encoded.types[one] for one in members]
        return pad(rows[members], [encoded.ids[one] for one in members], types, self.plan.padding)

    def _upload(self, batch: Batch) -> tuple[Any, Any, Any]:
        parts = (batch.ids, batch.mask, batch.types)
        ids, mask, types = (None if one is None else self.device.upload(one) for one in parts)
        return ids, mask if batch.lengths is None else batch.lengths, types

    def _fetch(self, pending: list[tuple[np.ndarray, Any]], work: Work) -> None:
        logits = self.device.download([one for _, one in pending])
        for (rows, _), values in zip(pending, logits, strict=True):
            scores = softmax(values)
            work.unfinite += int((~np.isfinite(scores).all(axis=1)).sum())
            work.entries += len(rows)
            self.put(rows, scores)
            self.advance(len(rows))
        pending.clear()

    def _timed(self, phase: str, function: Callable[..., Any], *arguments: Any) -> Any:
        start = self.clock()
        result = function(*arguments)
        self.phases.add(phase, self.clock() - start)
        return result
