"""Feeding a device: entries are read, tokenized and formed into batches.

For an asynchronous device that happens ahead of it, in a thread of its own behind a bounded queue:
the device computes while the host's processors would be idle, and the tokenizer leaves Python's
lock alone. On the CPU nothing is done ahead. The same cores tokenize and compute, so a thread would
only take from one to give to the other (tokenizing is 1 % of a pass over the worked example), and
one phase after the other can be timed apart.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from atpar.engine.batching import Batch, Grouping, Padding, pad
from atpar.engine.clocks import Phases
from atpar.engine.corpus import Window
from atpar.engine.tokens import Encoded

AHEAD = 64
"""Batches that wait for the device at most."""
POLL_S = 0.05
Item = TypeVar("Item")


@dataclass(frozen=True)
class Plan:
    """How a variant forms its batches."""

    grouping: Grouping
    padding: Padding


@dataclass
class Entries:
    """Tokenized entries and their places in the corpus."""

    rows: np.ndarray
    encoded: Encoded

    def after(self, first: "Entries | None") -> "Entries":
        """Return `first` and these entries together."""
        if first is None:
            return self
        return Entries(np.concatenate([first.rows, self.rows]), first.encoded + self.encoded)

    def part(self, members: np.ndarray) -> "Entries":
        """Return the entries at these indices."""
        return Entries(self.rows[members], self.encoded.part(members))


@dataclass
class Feed:
    """Batches of a variant, in the order in which they're computed."""

    plan: Plan
    encode: Callable[[list[str]], Encoded]
    phases: Phases
    truncated: int = 0

    def batches(self, windows: Iterable[Window]) -> Iterator[Batch]:
        """Yield one batch after the other.

        In corpus order they are the same however the corpus is cut into windows: entries that
        don't fill a batch wait for the next window. Grouping by length ends with each window.
        """
        rest: Entries | None = None
        reading = iter(windows)
        while (window := self.phases.of("read", next, reading, None)) is not None:
            rows, texts = window
            if not texts:
                continue
            encoded = self.phases.of("tokenize", self.encode, texts)
            self.truncated += encoded.truncated
            entries = Entries(rows, encoded).after(rest)
            groups = list(self._groups(entries))
            rest = None if self.plan.grouping.order == "length" else entries.part(groups.pop())
            for members in groups:
                yield self.phases.of("tokenize", self._batch, entries.part(members))
        if rest is not None:
            yield self.phases.of("tokenize", self._batch, rest)

    def _groups(self, entries: Entries) -> Iterator[np.ndarray]:
        return self.plan.grouping.batches(entries.encoded.lengths, self.plan.padding)

    def _batch(self, entries: Entries) -> Batch:
        return pad(entries.rows, entries.encoded.ids, entries.encoded.types, self.plan.padding)


class _End:
    """Closes a queue; `error` is what ended it, None for its own end."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def ahead(items: Iterator[Item], depth: int = AHEAD) -> Iterator[Item]:
    """Yield the items, made by a thread of its own, at most `depth` of them in advance.

    An exception in the thread is raised here. Closing this generator ends the thread.
    """
    made: queue.Queue[Any] = queue.Queue(depth)
    left = threading.Event()

    def hand_over(item: Any) -> bool:
        while not left.is_set():
            try:
                made.put(item, timeout=POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def make() -> None:
        try:
            for item in items:
                if not hand_over(item):
                    return
        except BaseException as error:
            hand_over(_End(error))
        else:
            hand_over(_End())

    thread = threading.Thread(target=make, name="feeding", daemon=True)
    thread.start()
    try:
        while not isinstance(item := made.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        left.set()
        thread.join()
