"""Which entries form a batch, in which order, and how they are padded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Batch:
    """Entries computed together; `rows` are their places in the corpus.

    `ids` and `mask` are int64, entries x width; `mask` is None where nothing is padded, so that
    the model needn't be asked to ignore anything. `types` is None where the tokenizer gives
    every token type 0. Packed entries lie in one row (1 x tokens), with their `lengths`.
    """

    rows: np.ndarray
    ids: np.ndarray
    mask: np.ndarray | None
    types: np.ndarray | None
    tokens: int
    lengths: np.ndarray | None = None


@dataclass(frozen=True)
class Padding:
    """How the entries of a batch are brought to one width."""

    token_id: int
    type_id: int = 0
    side: str = "right"
    fixed: int | None = None
    """A fixed width in tokens; None: that of the longest entry of the batch."""
    multiple: int = 1
    """Widths are multiples of this many tokens, up to `limit`."""
    limit: int | None = None
    packed: bool = False
    """Nothing is padded: the entries of a batch lie one behind the other."""

    def width(self, longest: int) -> int:
        """Return the width of a batch whose longest entry has so many tokens."""
        if self.fixed is not None:
            return self.fixed
        rounded = -(-longest // self.multiple) * self.multiple
        return max(longest, min(rounded, self.limit or rounded))


@dataclass(frozen=True)
class Grouping:
    """Which entries share a batch: so many of them, or as many as fit a number of tokens."""

    batch_size: int | None
    token_budget: int | None = None
    order: str = "corpus"

    def batches(self, lengths: np.ndarray, padding: Padding) -> Iterator[np.ndarray]:
        """Yield the entries (indices into `lengths`) of one batch after the other.

        Order `corpus` keeps them as they come. Order `length` sorts by length, longest first, so
        that a batch that doesn't fit into memory fails at the start and not after an hour; entries
        of equal length stay in corpus order.
        """
        indices = np.arange(len(lengths))
        if self.order == "length":
            indices = np.argsort(-lengths, kind="stable")
        if self.batch_size is not None:
            for start in range(0, len(indices), self.batch_size):
                yield indices[start : start + self.batch_size]
        else:
            yield from self._within_budget(indices, lengths, padding)

    def _within_budget(
        self, indices: np.ndarray, lengths: np.ndarray, padding: Padding
    ) -> Iterator[np.ndarray]:
        start, longest, together = 0, 0, 0
        for place, index in enumerate(indices):
            length = int(lengths[index])
            wider, more = max(longest, length), together + length
            size = more if padding.packed else padding.width(wider) * (place - start + 1)
            # An entry that is wider than the budget by itself is a batch of its own.
            if place > start and size > self.token_budget:
                yield indices[start:place]
                start, longest, together = place, length, length
            else:
                longest, together = wider, more
        if start < len(indices):
            yield indices[start:]


def pad(
    rows: np.ndarray,
    ids: Sequence[np.ndarray],
    types: Sequence[np.ndarray] | None,
    padding: Padding,
) -> Batch:
    """Return the batch of entries with these token ids (and token types)."""
    lengths = np.array([len(one) for one in ids])
    if padding.packed:
        return _pack(rows, ids, types, lengths)
    width = padding.width(int(lengths.max()))
    padded = np.full((len(ids), width), padding.token_id, np.int64)
    mask = None if (lengths == width).all() else np.zeros(padded.shape, np.int64)
    kinds = None if types is None else np.full(padded.shape, padding.type_id, np.int64)
    for row, length in enumerate(lengths):
        place = slice(width - length, width) if padding.side == "left" else slice(0, length)
        padded[row, place] = ids[row]
        if mask is not None:
            mask[row, place] = 1
        if kinds is not None:
            kinds[row, place] = types[row]
    return Batch(rows, padded, mask, kinds, int(lengths.sum()))


def _pack(
    rows: np.ndarray,
    ids: Sequence[np.ndarray],
    types: Sequence[np.ndarray] | None,
    lengths: np.ndarray,
) -> Batch:
    """Return entries one behind the other, those of equal length side by side."""
    order = np.argsort(lengths, kind="stable")
    row = np.concatenate([ids[one] for one in order])[None]
    kinds = None if types is None else np.concatenate([types[one] for one in order])[None]
    return Batch(rows[order], row, None, kinds, row.size, lengths[order])
