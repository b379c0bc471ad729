"""Forecasts: what passes tell of a load, with an interval that doesn't promise too much."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.calendar.forecast import (
    Load,
    Observation,
    coefficients,
    forecast,
    padded_tokens,
    stretches,
)


def seen(entries, tokens, seconds, name):
    return Observation(name, entries, tokens, seconds)


def test_nothing_measured_gives_no_forecast():
    assert forecast([], Load(1000, 50_000)) is None


def test_a_load_of_the_same_lengths_scales_and_keeps_the_spread():
    passes = [
        seen(1000, 60_000, time, f"p{number}") for number, time in enumerate([9.0, 10.0, 12.0])
    ]
    guess = forecast(passes, Load(1_000_000, 60_000_000))
    assert guess.seconds == pytest.approx(10_000)
    assert guess.low <= 9_000 and guess.high >= 12_000
    assert guess.method == "one corpus: by padded tokens" and not guess.extrapolates


def test_a_single_pass_says_that_its_spread_is_not_known():
    guess = forecast([seen(1000, 60_000, 10.0, "p")], Load(1000, 60_000))
    assert guess.method.endswith("a single pass, so its spread isn't known")


def test_one_corpus_cant_tell_entries_from_tokens_and_the_interval_says_so():
    passes = [seen(1000, 50_000, 10.0, "p1"), seen(1000, 50_000, 10.0, "p2")]
    guess = forecast(passes, Load(1000, 100_000))
    assert (guess.low, guess.high) == (pytest.approx(10), pytest.approx(20))
    assert guess.extrapolates


def test_several_lengths_tell_both_parts():
    truth = lambda entries, tokens: 0.001 * entries + 0.0002 * tokens  # noqa: E731
    passes = [
        seen(entries, tokens, truth(entries, tokens), f"p{entries}-{tokens}")
        for entries, tokens in [(1000, 20_000), (1000, 120_000), (500, 150_000)]
    ]
    assert coefficients(passes) == (pytest.approx(0.001), pytest.approx(0.0002))
    guess = forecast(passes, Load(10_000, 900_000))
    assert guess.seconds == pytest.approx(truth(10_000, 900_000))
    assert guess.low == pytest.approx(guess.high)
    assert guess.method == "entries and padded tokens" and not guess.extrapolates
    assert forecast(passes, Load(1000, 900_000)).extrapolates


@given(
    seconds=st.lists(st.floats(1, 100), min_size=1, max_size=6),
    entries=st.integers(1, 10**6),
    each=st.integers(1, 500),
)
def test_the_forecast_lies_in_its_interval_and_grows_with_the_load(seconds, entries, each):
    passes = [seen(1000, 60_000, time, f"p{number}") for number, time in enumerate(seconds)]
    guess = forecast(passes, Load(entries, entries * each))
    more = forecast(passes, Load(2 * entries, 2 * entries * each))
    assert guess.low <= guess.seconds * (1 + 1e-9) and guess.seconds <= guess.high * (1 + 1e-9)
    assert more.seconds == pytest.approx(2 * guess.seconds)


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ((1, "corpus", "longest", None), 5 + 1 + 3 + 9),
        ((2, "corpus", "longest", None), 2 * 5 + 2 * 9),
        ((2, "length", "longest", None), 2 * 3 + 2 * 9),
        ((3, "corpus", "longest", None), 3 * 5 + 9),
        ((4, "corpus", "longest", 4), 4 * 4),
        ((2, "corpus", "max_length", 6), 4 * 6),
    ],
)
def test_padding_is_computed_as_a_variant_batches(settings, tokens):
    assert padded_tokens([5, 1, 3, 9], *settings) == tokens


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({"token_budget": 12}, 2 * 5 + 3 + 9),
        ({"token_budget": 12, "order": "length"}, 9 + 2 * 5 + 1),
        ({"batch_size": 2, "pad_multiple": 4}, 2 * 8 + 2 * 12),
        ({"batch_size": 2, "order": "length", "window": 2}, 2 * 5 + 2 * 9),
        ({"batch_size": 2, "padding": "none"}, 5 + 1 + 3 + 9),
    ],
    ids=str,
)
def test_other_ways_of_batching_are_the_engines(options, tokens):
    plain = {"batch_size": None, "order": "corpus", "padding": "longest", "max_length": None}
    assert padded_tokens([5, 1, 3, 9], **{**plain, **options}) == tokens


def test_padding_to_a_length_needs_one():
    with pytest.raises(ValueError, match="needs a max_length"):
        padded_tokens([1], 1, "corpus", "max_length", None)
    assert padded_tokens(np.array([], dtype=int), 4, "corpus", "longest", None) == 0


@given(st.lists(st.integers(1, 600), min_size=1, max_size=200), st.integers(1, 16))
def test_grouping_by_length_never_pads_more(lengths, batch):
    grouped = padded_tokens(lengths, batch, "length", "longest", None)
    assert sum(lengths) <= grouped <= len(lengths) * max(lengths)
    assert padded_tokens(lengths, 1, "corpus", "longest", None) == sum(lengths)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 900), st.floats(0.01, 9)), min_size=2),
    st.floats(0, 5),
)
def test_stretches_add_up_to_their_pass(steps, besides):
    marks = np.cumsum(np.array(steps, dtype=float), axis=0)
    entries, tokens, computing = marks[-1].tolist()
    whole = Observation("p", int(entries), int(tokens), computing + besides)
    parts = stretches(whole, marks.tolist())
    assert 1 < len(parts) <= 16
    assert sum(one.entries for one in parts) == whole.entries
    assert sum(one.padded_tokens for one in parts) == whole.padded_tokens
    assert sum(one.seconds for one in parts) == pytest.approx(whole.seconds)
    assert {one.passed for one in parts} == {"p"}


@pytest.mark.parametrize("marks", [[], [[10, 100, 5.0]], [[4, 40, 1.0], [9, 90, 4.0]]])
def test_a_pass_whose_marks_do_not_cover_it_is_one_stretch(marks):
    whole = Observation("p", 10, 100, 5.0)
    assert stretches(whole, marks) == [whole]
