"""The measured span, with stand-ins for model and device (M01, M23, T24)."""

import queue
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from atpar.engine.batching import Grouping, Padding, pad
from atpar.engine.clocks import Phases
from atpar.engine.corpus import share
from atpar.engine.crew import merged
from atpar.engine.devices import CpuDevice
from atpar.engine.span import GROUP, MARKS, Plan, Span, Work
from atpar.engine.tokens import Encoded, usable_length
from atpar.model.heads import softmax
from stand_ins import ArrayDevice


class QueuedDevice(CpuDevice):
    """A device whose work is queued and done by a thread, as a GPU's stream does it."""

    asynchronous = True

    def __init__(self):
        super().__init__("queued")
        self.work = queue.Queue()
        self.waits = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            self.work.get()()
            self.work.task_done()

    def upload(self, staged):
        return staged

    def launch(self, seconds, result):
        """Queue work and return at once; the result is filled in when the work is done."""
        values = np.full_like(result, np.nan)

        def compute():
            time.sleep(seconds)
            values[:] = result

        self.work.put(compute)
        return values

    def download(self, tensors):
        copied, arrived = [], threading.Event()

        def copy():
            copied.extend(tensor.copy() for tensor in tensors)
            arrived.set()

        self.work.put(copy)

        def wait():
            assert arrived.wait(10)
            return copied

        return wait

    def synchronise(self):
        self.waits += 1
        self.work.join()

    def mark(self):
        marked = []
        self.work.put(lambda: marked.append(time.perf_counter()))
        return marked

    def between(self, start, stop):
        return stop[0] - start[0]


def encode_lengths(texts):
    """One token for each word; the id is the word's length."""
    ids = [np.array([len(word) for word in text.split()], np.int64) for text in texts]
    return Encoded(ids, None, 0)


def length_logits(ids, mask, _types):
    """A model that predicts an entry's number of tokens, capped at 9."""
    lengths = (np.ones_like(ids) if mask is None else mask).sum(axis=1)
    return np.eye(10, dtype=np.float32)[np.minimum(lengths, 9)] * 20


def span_of(texts, plan, device=None, classify=None, window=None, encode=encode_lengths):
    """Return (work, scores, phases) of a span over `texts`."""
    device = device or ArrayDevice()
    scores = np.full((len(texts), 10), np.nan, np.float32)

    def put(rows, values):
        assert np.isnan(scores[rows]).all(), "an entry is computed once"
        scores[rows] = values

    phases = Phases()
    span = Span(plan, encode, classify or length_logits, device, put, lambda _: None, phases)
    window = window or len(texts)
    starts = range(0, len(texts), window)
    return (
        span.run(
            [(np.arange(s, min(s + window, len(texts))), texts[s : s + window]) for s in starts]
        ),
        scores,
        phases,
    )


def texts_of(lengths):
    return [" ".join(["word"] * length) for length in lengths]


@pytest.mark.parametrize("order", ["corpus", "length"])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("window", [None, 3])
def test_results_are_put_back_in_corpus_order(order, side, window):
    lengths = [5, 1, 3, 8, 2, 2, 7, 1]
    plan = Plan(Grouping(3, order=order), Padding(0, side=side))
    work, scores, _ = span_of(texts_of(lengths), plan, window=window)
    assert scores.argmax(axis=1).tolist() == lengths
    assert (work.entries, work.tokens_real) == (8, sum(lengths))


def test_grouping_pads_less_than_corpus_order():
    lengths = [1] * 50 + [500] + [1] * 49
    corpus, _, _ = span_of(texts_of(lengths), Plan(Grouping(10, order="corpus"), Padding(0)))
    grouped, _, _ = span_of(texts_of(lengths), Plan(Grouping(10, order="length"), Padding(0)))
    assert corpus.tokens_padded == 90 + 5000
    assert grouped.tokens_padded == 5000 + 90
    shuffled = [1, 500] * 50
    corpus, _, _ = span_of(texts_of(shuffled), Plan(Grouping(10, order="corpus"), Padding(0)))
    grouped, _, _ = span_of(texts_of(shuffled), Plan(Grouping(10, order="length"), Padding(0)))
    assert corpus.tokens_padded == 50_000
    assert grouped.tokens_padded == 25_050


def test_a_queued_device_is_waited_for_before_the_clock_starts_and_stops():
    device = QueuedDevice()
    device.work.put(lambda: time.sleep(0.3))  # Earlier work, which isn't the span's.

    def classify(ids, _mask, _types):
        return device.launch(0.02, np.ones((len(ids), 10), np.float32))

    start = time.perf_counter()
    work, scores, phases = span_of(
        texts_of([2] * 10), Plan(Grouping(1, order="corpus"), Padding(0)), device, classify
    )
    elapsed = time.perf_counter() - start
    assert 10 * 0.02 <= work.main_time_s < elapsed - 0.25
    assert not np.isnan(scores).any()
    assert work.device_time_s == pytest.approx(0.2, abs=0.1)
    assert work.overlapping == ["read", "tokenize", "transfer", "inference", "materialise"]
    seconds, reasons = phases.record()
    assert seconds["transfer"] is None
    assert "overlap" in reasons["transfer"]
    assert 0.2 <= seconds["inference"] <= work.device_time_s, "the device's own time"


def taking(device, seconds):
    """A model that takes so many seconds of a device with a queue, or of a call without one."""

    def classify(ids, _mask, _types):
        result = np.ones((len(ids), 10), np.float32)
        if device.asynchronous:
            return device.launch(seconds, result)
        time.sleep(seconds)
        return result

    return classify


@pytest.mark.parametrize("device", [ArrayDevice, QueuedDevice])
def test_what_was_computed_before_a_batch_failed_is_kept(device):
    device, told = device(), []
    compute = taking(device, 0.01)

    def classify(*inputs):
        if len(told) + 1 == 20:
            raise MemoryError("out of memory")
        told.append(inputs)
        return compute(*inputs)

    kept = []
    plan = Plan(Grouping(1, order="corpus"), Padding(0))
    span = Span(
        plan,
        encode_lengths,
        classify,
        device,
        lambda rows, _: kept.extend(rows.tolist()),
        lambda _: None,
        Phases(),
    )
    with pytest.raises(MemoryError):
        span.run([(np.arange(30), texts_of([2] * 30))])
    assert kept == list(range(19))


@pytest.mark.parametrize("device", [ArrayDevice, QueuedDevice])
def test_a_slow_device_tells_its_progress_all_along(device):
    device, told = device(), []

    def advance(entries):
        told.append((time.perf_counter(), entries))

    plan = Plan(Grouping(1, order="corpus"), Padding(0))
    classify = taking(device, 0.1)
    span = Span(plan, encode_lengths, classify, device, lambda *_: None, advance, Phases())
    start = time.perf_counter()
    span.run([(np.arange(12), texts_of([2] * 12))])
    assert sum(entries for _, entries in told) == 12
    assert told[0][0] - start < 0.6, "not once at the end, after 1.2 s"
    assert max(entries for _, entries in told) <= 3, "0.25 s of work"


@pytest.mark.parametrize("device", [ArrayDevice, QueuedDevice])
def test_results_of_quick_batches_are_kept_together(device):
    device, kept = device(), []
    plan = Plan(Grouping(1, order="corpus"), Padding(0))
    span = Span(
        plan,
        encode_lengths,
        taking(device, 0.0),
        device,
        lambda rows, _: kept.append(rows.tolist()),
        lambda _: None,
        Phases(),
    )
    work = span.run([(np.arange(100), texts_of([2] * 100))])
    assert np.concatenate(kept).tolist() == list(range(100))
    assert work.batches == 100
    assert len(kept) < 50


def slow_encoding(texts):
    """A tokenizer that takes 10 ms for each text, and leaves Python's lock alone meanwhile."""
    time.sleep(0.01 * len(texts))
    return encode_lengths(texts)


@pytest.mark.parametrize("device", [ArrayDevice, QueuedDevice])
def test_only_a_queued_device_computes_while_its_next_batches_are_tokenized(device):
    device = device()

    def classify(ids, _mask, _types):
        time.sleep(0.04)  # The host's part of a launch; a device without a queue computes here.
        if device.asynchronous:
            return device.launch(0.04, np.ones((len(ids), 10), np.float32))
        return np.ones((len(ids), 10), np.float32)

    plan = Plan(Grouping(4, order="corpus"), Padding(0))
    texts = texts_of([2] * 40)
    work, scores, phases = span_of(texts, plan, device, classify, 4, slow_encoding)
    seconds = phases.record()[0]
    assert not np.isnan(scores).any()
    assert seconds["tokenize"] >= 0.4
    assert seconds["inference"] >= 0.4
    if device.asynchronous:
        assert 0.44 <= work.main_time_s < 0.7, "wall time: at most the first window isn't hidden"
        assert sum(filter(None, seconds.values())) > work.main_time_s
    else:
        assert work.main_time_s >= 0.8
        assert work.overlapping == []


def test_longest_entries_come_first_so_that_memory_fails_early():
    batches = list(Grouping(2, order="length").batches(np.array([3, 9, 1, 9]), Padding(0)))
    assert [batch.tolist() for batch in batches] == [[1, 3], [0, 2]]


def test_a_batch_without_padding_has_no_mask():
    ids = [np.array([1, 2]), np.array([3, 4])]
    assert pad(np.arange(2), ids, None, Padding(0)).mask is None
    padded = pad(np.arange(2), ids, None, Padding(9, fixed=3))
    assert padded.mask.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert padded.ids.tolist() == [[1, 2, 9], [3, 4, 9]]
    left = pad(np.arange(2), [np.array([1]), np.array([2, 3])], None, Padding(9, side="left"))
    assert left.ids.tolist() == [[9, 1], [2, 3]]
    assert left.mask.tolist() == [[0, 1], [1, 1]]


def test_logits_that_are_not_finite_are_counted_and_stay_visible():
    def classify(ids, _mask, _types):
        logits = np.zeros((len(ids), 10), np.float32)
        logits[0, 0] = np.nan
        logits[1, 0] = np.inf
        return logits

    work, scores, _ = span_of(
        texts_of([1] * 4), Plan(Grouping(4, order="corpus"), Padding(0)), None, classify
    )
    assert work.unfinite == 2
    assert np.isnan(scores[:2]).all()
    np.testing.assert_allclose(scores[2:].sum(axis=1), 1)


def test_softmax_of_large_logits_is_finite():
    probabilities = softmax(np.array([[1000.0, 0.0], [-1000.0, -1000.0]]))
    np.testing.assert_allclose(probabilities, [[1, 0], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("asked", "model", "tokenizer", "expected"),
    [
        (None, 512, 10**30, 512),
        (64, 512, 256, 64),
        (1024, 512, None, 512),
        (None, None, 128, 128),
        (None, None, None, None),
    ],
)
def test_the_smallest_known_limit_holds(asked, model, tokenizer, expected):
    assert usable_length(asked, model, tokenizer) == expected


def test_a_token_budget_counts_padding():
    lengths = np.array([3, 9, 1, 9, 2, 2, 2])
    batches = list(Grouping(None, 12, "corpus").batches(lengths, Padding(0)))
    assert [batch.tolist() for batch in batches] == [[0], [1], [2], [3], [4, 5, 6]]
    grouped = list(Grouping(None, 18, "length").batches(lengths, Padding(0)))
    assert [batch.tolist() for batch in grouped] == [[1, 3], [0, 4, 5, 6, 2]]
    for batch in grouped:
        assert len(batch) * lengths[batch].max() <= 18


def test_packed_entries_fill_a_budget_without_padding():
    lengths = np.array([3, 9, 1, 9, 2, 2, 2])
    packed = Padding(0, packed=True)
    batches = list(Grouping(None, 13, "corpus").batches(lengths, packed))
    assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [lengths[batch].sum() for batch in batches] == [13, 13, 2]
    batches = list(Grouping(3, None, "corpus").batches(lengths, packed))
    assert [batch.tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6]]


def test_packed_entries_lie_one_behind_the_other_by_length():
    ids = [np.array([1, 2, 3]), np.array([4]), np.array([5, 6, 7])]
    types = [np.array([0, 1, 1]), np.array([0]), np.array([1, 0, 0])]
    batch = pad(np.array([10, 11, 12]), ids, types, Padding(9, packed=True))
    assert batch.rows.tolist() == [11, 10, 12]
    assert batch.ids.tolist() == [[4, 1, 2, 3, 5, 6, 7]]
    assert batch.types.tolist() == [[0, 0, 1, 1, 1, 0, 0]]
    assert batch.lengths.tolist() == [1, 3, 3]
    assert batch.mask is None
    assert batch.tokens == batch.ids.size == 7


def test_the_lengths_of_packed_entries_stay_on_the_host():
    class Moved(ArrayDevice):
        def upload(self, array):
            return array.astype(object)

    def classify(ids, lengths, _types):
        assert ids.dtype == object
        assert lengths.dtype == np.int64
        return np.eye(10, dtype=np.float32)[lengths] * 20

    lengths = [5, 1, 3, 8, 2]
    plan = Plan(Grouping(2, order="corpus"), Padding(0, packed=True))
    work, scores, _ = span_of(texts_of(lengths), plan, Moved(), classify)
    assert scores.argmax(axis=1).tolist() == lengths
    assert work.tokens_padded == work.tokens_real == sum(lengths)


def test_an_entry_wider_than_the_budget_is_a_batch_of_its_own():
    batches = list(Grouping(None, 4, "corpus").batches(np.array([2, 50, 2, 2]), Padding(0)))
    assert [batch.tolist() for batch in batches] == [[0], [1], [2, 3]]


@pytest.mark.parametrize(
    ("padding", "longest", "width"),
    [
        (Padding(0), 13, 13),
        (Padding(0, multiple=8), 13, 16),
        (Padding(0, multiple=8), 16, 16),
        (Padding(0, multiple=8, limit=15), 13, 15),
        (Padding(0, fixed=64), 13, 64),
    ],
)
def test_widths(padding, longest, width):
    assert padding.width(longest) == width


def test_processes_share_the_corpus_without_gap_or_overlap():
    lengths = [5, 1, 3, 8, 2, 2, 7]
    texts = texts_of(lengths)
    windows = [(np.arange(0, 4), texts[:4]), (np.arange(4, 7), texts[4:])]
    shares = [list(share(windows, member, 2)) for member in range(2)]
    rows = np.concatenate([rows for part in shares for rows, _ in part])
    assert sorted(rows.tolist()) == list(range(7))
    for part in shares:
        for rows, own in part:
            assert own == [texts[row] for row in rows]


def test_the_time_of_several_processes_is_one_clock_and_nothing_is_added():
    other = {"entries": 3, "tokens_real": 10, "tokens_padded": 12, "truncated": 1, "batches": 2}
    work = Work(main_time_s=4.0, entries=4, tokens_real=20, tokens_padded=20, batches=1)
    both = merged(work, [{**other, "unfinite": 1, "main_time_s": 5.0}], 5.2)
    assert both.main_time_s == 5.2
    assert both.marks == []
    assert (both.entries, both.tokens_real, both.truncated, both.unfinite) == (7, 30, 1, 1)
    assert "inference" in both.overlapping


@pytest.mark.parametrize("entries", [1, 7, 64, 65, 1000])
@pytest.mark.parametrize("device", [ArrayDevice, QueuedDevice])
def test_marks_lead_evenly_to_the_whole_span(entries, device):
    plan = Plan(Grouping(1, order="corpus"), Padding(0))
    work, _, _ = span_of(texts_of([2] * entries), plan, device())
    assert work.marks[-1][:2] == [work.entries, work.tokens_padded]
    assert 0 < work.marks[-1][2] <= work.main_time_s
    assert len(work.marks) <= MARKS + 1
    assert all(a < b for a, b in pairwise(mark[0] for mark in work.marks))
    steps = {b[0] - a[0] for a, b in pairwise(work.marks[:-1])}
    # A queued device's first groups are small, until it is known how long a batch takes.
    assert max(steps, default=0) <= GROUP if device is QueuedDevice else len(steps) <= 1


@pytest.mark.parametrize("device", [ArrayDevice, QueuedDevice])
def test_a_mark_pairs_entries_with_their_own_tokens(device):
    lengths = [1] * 100 + [30] * 100 + [2] * 100
    plan = Plan(Grouping(1, order="corpus"), Padding(0))
    work, _, _ = span_of(texts_of(lengths), plan, device())
    tokens = np.cumsum(lengths)
    assert len(work.marks) > 5
    assert [mark[1] for mark in work.marks] == [tokens[mark[0] - 1] for mark in work.marks]
