"""The measured span: from reading the corpus to predictions on the host [P14].

The same function does the warm-up, over other entries, so that every variant warms up through the
very code that is measured.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from atpar.engine.batching import Batch
from atpar.engine.clocks import WITHIN, Phases
from atpar.engine.corpus import Window
from atpar.engine.devices import Device
from atpar.engine.feeding import Feed, Plan, ahead
from atpar.engine.tokens import Encoded
from atpar.model.heads import softmax

GROUP, GROUP_S = 32, 0.25
"""Batches whose results are kept together: at most so many, and so many seconds' work, so that
progress is told and a pass that is killed loses no more than that."""
MARKS = 64
"""Marks that a span keeps at most: when there are more, every second one is dropped."""
COMPUTING = ("transfer", "inference", "materialise")
TRANSFER_REASON = "copies are queued on the device and overlap with inference: not timed apart"
Inputs = tuple[Any, Any, Any]


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

    def count(self, batch: Batch) -> None:
        """Count a batch whose results have come."""
        self.batches += 1
        self.entries += len(batch.rows)
        self.tokens_real += batch.tokens
        self.tokens_padded += batch.ids.size

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
    scores_of: Callable[[np.ndarray], np.ndarray] = softmax
    """Logits -> scores (float32), as the model's head means them."""
    clock: Callable[[], float] = time.perf_counter
    _started: float = field(init=False, default=0.0)

    def run(self, windows: Iterable[Window]) -> Work:
        """Compute all windows and return what was done; the clock is bounded by waits [P15]."""
        work, feed = Work(), Feed(self.plan, self.encode, self.phases)
        self.device.synchronise()
        self._started = self.clock()
        before = self.device.mark()
        if self.device.asynchronous:
            self._queued(feed.batches(windows), work)
        else:
            self._one_by_one(feed.batches(windows), work)
        after = self.device.mark()
        self.device.synchronise()
        work.mark(self._computing_s(), last=True)
        work.main_time_s = self.clock() - self._started
        work.truncated = feed.truncated
        if before is not None:
            work.device_time_s = self.device.between(before, after)
        return work

    def _one_by_one(self, batches: Iterator[Batch], work: Work) -> None:
        """Compute on a device whose calls return when their work is done.

        What keeps results has left the processor's caches after each batch: results of several are
        kept together, in a tenth of the time that they take one by one.
        """
        group: list[tuple[Batch, Any]] = []
        since = self.clock()
        try:
            for batch in batches:
                inputs = self.phases.of("transfer", self._upload, batch, self.device.stage(batch))
                group.append((batch, self.phases.of("inference", self.classify, *inputs)))
                if len(group) >= GROUP or self.clock() - since >= GROUP_S:
                    self._fetch(group, work)
                    since = self.clock()
            self._fetch(group, work)
        except Exception:
            # What was computed before isn't lost with the batch that failed.
            with suppress(Exception):
                self._fetch(group, work)
            raise

    def _fetch(self, group: list[tuple[Batch, Any]], work: Work) -> None:
        """Keep the logits of these batches and empty the group."""
        taken, group[:] = list(group), ()
        if taken:
            batches, logits = zip(*taken, strict=True)
            self._keep(batches, self.phases.of("materialise", self.device.download(logits)), work)

    def _queued(self, batches: Iterator[Batch], work: Work) -> None:
        """Compute on a device with a queue, which never waits for the host.

        Batches are made ahead by a thread, and results stay on the device until a group of them is
        copied together; while the host waits for one group the device has the next to compute.
        """
        work.overlapping = list(WITHIN)
        staged = ((batch, self.device.stage(batch)) for batch in batches)
        groups = deque([_Group(self.device)])
        size = 1
        try:
            with closing(ahead(staged)) as ready:
                for batch, arrays in ready:
                    inputs = self._upload(batch, arrays)
                    groups[-1].launch(batch, self.classify, inputs)
                    if len(groups[-1].batches) >= size:
                        groups[-1].fetch()
                        if len(groups) > 1:
                            size = self._finish(groups.popleft(), work)
                        groups.append(_Group(self.device))
            self._finish_all(groups, work)
        except Exception:
            # What the device had computed before isn't lost with the batch that failed.
            with suppress(Exception):
                self._finish_all(groups, work)
            raise
        self.phases.untimed("transfer", TRANSFER_REASON)

    def _finish_all(self, groups: deque["_Group"], work: Work) -> None:
        groups[-1].fetch()
        while groups:
            self._finish(groups.popleft(), work)

    def _finish(self, group: "_Group", work: Work) -> int:
        """Keep a group's results; return how many batches the next one may have."""
        if not group.batches:
            return 1
        results = group.wait()
        seconds = group.device_time_s()
        self.phases.add("inference", seconds)
        self._keep(group.batches, results, work)
        return GROUP if not seconds else max(1, min(GROUP, int(GROUP_S / seconds * len(results))))

    def _keep(self, batches: Sequence[Batch], results: list[np.ndarray], work: Work) -> None:
        self.phases.of("materialise", self._put, batches, results, work)
        work.mark(self._computing_s())

    def _computing_s(self) -> float:
        """Seconds of computing so far: of the whole span where phases overlap."""
        if self.device.asynchronous:
            return self.clock() - self._started
        return sum(self.phases.seconds.get(phase, 0.0) for phase in COMPUTING)

    def _upload(self, batch: Batch, arrays: Inputs) -> Inputs:
        ids, mask, types = (None if one is None else self.device.upload(one) for one in arrays)
        return ids, mask if batch.lengths is None else batch.lengths, types

    def _put(self, batches: Sequence[Batch], results: list[np.ndarray], work: Work) -> None:
        scores = self.scores_of(np.concatenate(results))
        work.unfinite += int((~np.isfinite(scores).all(axis=1)).sum())
        # Entries and tokens are counted together: a mark between two fetches pairs them.
        for batch in batches:
            work.count(batch)
        self.put(np.concatenate([batch.rows for batch in batches]), scores)
        self.advance(len(scores))


class _Group:
    """Batches on an asynchronous device, from their launch to their results on the host."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.batches: list[Batch] = []
        self._logits: list[Any] = []
        self._spans: list[tuple[Any, Any]] = []

    def launch(self, batch: Batch, classify: Callable[..., Any], inputs: Inputs) -> None:
        """Queue one batch; a mark before and after it tells its time on the device."""
        before = self.device.mark()
        self._logits.append(classify(*inputs))
        self._spans.append((before, self.device.mark()))
        self.batches.append(batch)

    def fetch(self) -> None:
        """Queue the copy of all results, which is then underway while others are computed."""
        if self._logits:
            self._arrived = self.device.download(self._logits)
            self._logits = []

    def wait(self) -> list[np.ndarray]:
        """Return the logits of each batch, once they are on the host."""
        return self._arrived()

    def device_time_s(self) -> float:
        """Seconds between the marks around each batch, after `wait`."""
        return sum(self.device.between(before, after) for before, after in self._spans)
