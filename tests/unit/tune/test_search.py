"""The search finds the memory limit, and proposes what fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.tune.run import trial_of
from atpar.tune.search import PRECISION, Trial, proposed, search


def device(limit, best=8):
    """Return a measure function: values above `limit` are out of memory, `best` is the fastest."""

    def measure(value):
        if value > limit:
            return Trial(value, "out_of_memory", reason="CUDA out of memory")
        return Trial(value, "ok", 1.0, entries_per_s=1000 - abs(value - best))

    return measure


def test_doubling_then_bisecting():
    tried = [trial.value for trial in search(device(limit=21), 1, 256)]
    assert tried == [1, 2, 4, 8, 16, 32, 24, 20, 22]


def test_without_a_limit_it_ends_at_the_largest():
    assert [trial.value for trial in search(device(10**9), 1, 100)] == [1, 2, 4, 8, 16, 32, 64, 100]


def test_if_the_first_does_not_fit_nothing_else_is_tried():
    trials = search(device(limit=3), 4, 64)
    assert [(trial.value, trial.fits) for trial in trials] == [(4, False)]
    assert proposed(trials) == []


@given(st.integers(1, 3000), st.integers(1, 40), st.integers(40, 2000))
def test_the_limit_is_known_to_one_part_in_eight(limit, smallest, largest):
    trials = search(device(limit), smallest, largest)
    fits = max((one.value for one in trials if one.fits), default=0)
    fails = min((one.value for one in trials if not one.fits), default=None)
    assert fits <= limit
    assert len({one.value for one in trials}) == len(trials)
    if fails is None:
        assert fits == largest
    elif fits:
        assert fails > limit
        assert fails - fits <= max(1, fits // PRECISION)


def test_the_fastest_and_the_largest_that_fits_are_proposed():
    chosen = proposed(search(device(limit=21, best=8), 1, 256))
    assert [trial.value for trial in chosen] == [8, 20]


def test_one_is_proposed_once_if_it_is_both():
    assert [trial.value for trial in proposed(search(device(10**9, best=64), 1, 64))] == [64]


def record(**changes):
    return {
        "status": "ok", "reason": None, "main_time_s": 2.0, "entries_completed": 100,
        "tokens_padded": 300, "tokens_real": 200,
        "memory": {
            "peak_device_reserved_measured_bytes": None, "peak_host_rss_measured_bytes": 7,
        },
        **changes,
    }  # fmt: skip


def test_a_record_becomes_a_trial():
    trial = trial_of(16, record())
    assert (trial.entries_per_s, trial.padding_ratio) == (50.0, 1.5)
    assert (trial.peak_bytes, trial.peak_counter) == (7, "peak_host_rss_measured_bytes")


def test_a_failed_record_keeps_its_reason_and_no_figures():
    trial = trial_of(16, record(status="out_of_memory", reason="no memory left", main_time_s=None))
    assert trial == Trial(16, "out_of_memory", reason="no memory left")


@pytest.mark.parametrize("memory", [{}, {"peak_host_rss_measured_bytes": None}])
def test_an_unknown_peak_stays_unknown(memory):
    trial = trial_of(16, record(memory=memory))
    assert trial.peak_bytes is None
    assert trial.peak_counter is None
