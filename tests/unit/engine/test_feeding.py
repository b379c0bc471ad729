"""Batches for a device: the same however the corpus is read, made ahead, and never lost."""

import itertools
import threading
import time

import numpy as np
import pytest

from atpar.engine.batching import Grouping, Padding
from atpar.engine.clocks import Phases
from atpar.engine.corpus import spread_over_lengths
from atpar.engine.feeding import Feed, Plan, ahead
from atpar.engine.tokens import Encoded


def encoded(texts):
    """One token for each letter; every second text has token types."""
    ids = [np.array([ord(letter) for letter in text], np.int64) for text in texts]
    types = [one % 2 for one in ids] if "b" in texts[0] else None
    return Encoded(ids, types, sum(len(text) > 5 for text in texts))


def fed(texts, grouping, window, **padding):
    """Return (feed, batches) over the texts, read in windows of so many entries."""
    feed = Feed(Plan(grouping, Padding(0, **padding)), encoded, Phases())
    windows = [
        (np.arange(start, min(start + window, len(texts))), texts[start : start + window])
        for start in range(0, len(texts), window)
    ]
    return feed, list(feed.batches(windows))


TEXTS = ["b" * length for length in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9)]


@pytest.mark.parametrize("grouping", [Grouping(4), Grouping(1), Grouping(None, 12)], ids=str)
@pytest.mark.parametrize("packed", [False, True])
def test_in_corpus_order_batches_do_not_depend_on_how_the_corpus_is_read(grouping, packed):
    _, whole = fed(TEXTS, grouping, len(TEXTS), packed=packed)
    for window in (1, 2, 5, 7):
        feed, batches = fed(TEXTS, grouping, window, packed=packed)
        assert feed.truncated == 6
        assert len(batches) == len(whole)
        for one, other in zip(batches, whole, strict=True):
            assert one.rows.tolist() == other.rows.tolist()
            assert one.ids.tolist() == other.ids.tolist()
            assert one.types.tolist() == other.types.tolist()


def test_grouping_by_length_ends_with_each_window():
    _, batches = fed(TEXTS, Grouping(3, order="length"), 5)
    assert [batch.rows.max() // 5 for batch in batches] == [0, 0, 1, 1, 2, 2]


def test_types_of_some_entries_are_kept_beside_none_of_others():
    _, batches = fed(["aaa", "bb"], Grouping(2), 1)
    assert batches[0].types.tolist() == [[0, 0, 0], [0, 0, 0]]
    _, batches = fed(["aaa", "bc"], Grouping(2), 1)
    assert batches[0].types.tolist() == [[0, 0, 0], [0, 1, 0]]


def test_no_more_than_the_depth_is_made_ahead():
    made = []
    items = ahead((made.append(number) or number for number in itertools.count()), depth=3)
    assert next(items) == 0
    time.sleep(0.2)
    assert len(made) <= 5, "one given, three waiting, one in hand"
    before = threading.active_count()
    items.close()
    assert threading.active_count() == before - 1, "its thread is gone"


def test_what_fails_ahead_fails_here_after_what_was_made():
    def items():
        yield 1
        raise MemoryError("no room for tokens")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(MemoryError, match="no room for tokens"):
        next(found)


def test_the_warm_up_reads_a_large_corpus_piece_by_piece(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr("atpar.engine.corpus.PIECE", 4)
    texts = [f"{'x' * length}{number}" for number, length in enumerate([5, 90, 1, 40, 7, 7, 60])]
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), tmp_path / "c.parquet")
    found = spread_over_lengths(tmp_path / "c.parquet", 3)
    assert found == [texts[1], texts[4], texts[2]]
    assert spread_over_lengths(tmp_path / "c.parquet", 0) == []
    every = spread_over_lengths(tmp_path / "c.parquet", 100)
    assert every == sorted(texts, key=len, reverse=True)
