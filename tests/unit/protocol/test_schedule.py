"""The rotated order of passes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from atpar.protocol.schedule import rotated, schedule


def test_three_variants_rotate_as_in_the_protocol():
    order = [place.variant for place in schedule(["node"], ["1", "4", "8"], 3)]
    assert order == ["1", "4", "8", "4", "8", "1", "8", "1", "4"]


def test_offers_on_one_machine_take_turns_at_going_first():
    places = schedule(["a", "b"], ["x"], 4)
    assert [place.offer for place in places] == ["a", "b", "b", "a", "a", "b", "b", "a"]


def test_what_resumes_a_pass_follows_it_in_every_round():
    places = schedule(["node"], ["1", "half", "4", "8"], 3, {"half": "4"})
    order = [place.variant for place in places]
    assert order == ["1", "4", "half", "8", "4", "half", "8", "1", "8", "1", "4", "half"]
    assert [place.rank for place in places] == list(range(12))


def test_no_offers_no_places():
    assert schedule([], ["x"], 5) == []


@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 12))
def test_every_variant_stands_equally_often_in_every_place(offers, variants, repetitions):
    offer_names = [f"o{number}" for number in range(offers)]
    variant_names = [f"v{number}" for number in range(variants)]
    places = schedule(offer_names, variant_names, repetitions)

    assert [place.rank for place in places] == list(range(offers * variants * repetitions))
    passes = {(place.offer, place.variant, place.repetition) for place in places}
    assert len(passes) == len(places)
    for offer in offer_names:
        counts = Counter(
            (place.variant, place.position) for place in places if place.offer == offer
        )
        every = [counts[name, position] for name in variant_names for position in range(variants)]
        assert max(every) - min(every) <= 1


@given(st.lists(st.text(), max_size=6), st.integers(0, 20))
def test_rotation_keeps_the_names(names, by):
    assert sorted(rotated(names, by)) == sorted(names)
    assert rotated(names, len(names)) == names
