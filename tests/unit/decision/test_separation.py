"""The rule that tells options apart, its groups, and what stands beside it."""

import importlib.util
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atpar.config.protocol import Separation
from atpar.decision.separation import Rule, compare, groups, pairs, ranked
from atpar.decision.statistics import (
    permutation_test,
    position_effect,
    ratio_interval,
)

ROOT = Path(__file__).parents[3]
RANKS, RANGES = Rule("ranks-and-gap"), Rule("ranges-and-gap")
STEADY = [20.0, 20.1, 19.9, 20.2, 20.0]
QUICK = [10.0, 10.1, 9.9, 10.2, 10.0]

durations = st.lists(st.floats(1, 1000), min_size=2, max_size=7)


@pytest.mark.parametrize("rule", [RANKS, RANGES])
def test_distant_options_are_told_apart(rule):
    found = compare(QUICK, STEADY, rule)
    assert found.separated and not found.ranges_overlap
    assert found.gap == pytest.approx(10)


@pytest.mark.parametrize("rule", [RANKS, RANGES])
def test_one_pass_within_the_others_range_is_enough_to_keep_five_together(rule):
    found = compare(QUICK, [9.95, 12.0, 12.1, 12.2, 12.3], rule)
    assert not found.separated


@pytest.mark.parametrize("rule", [RANKS, RANGES])
def test_a_gap_like_the_spread_separates_nothing(rule):
    # No overlap, but the medians lie 0.6 apart and each spreads over 0.8 or more [P21].
    found = compare([10.0, 10.2, 10.5, 11.0, 11.0], [11.05, 11.06, 11.07, 11.9, 11.9], rule)
    assert not found.ranges_overlap and not found.separated
    assert "doesn't exceed" in found.reason


def test_a_long_outlier_hides_the_difference_from_ranges_and_not_from_ranks():
    slow = [12.0, 12.1, 11.9, 12.2, 19.0]
    assert not compare(QUICK, slow, RANGES).separated
    assert compare(QUICK, slow, RANKS).separated


def test_the_rank_test_is_exact():
    # All of five below all of five: 2 of the 252 orders.
    assert compare(QUICK, STEADY, RANKS).rank_p_value == pytest.approx(2 / 252)


def test_too_few_passes_separate_nothing_and_the_reason_says_so():
    found = compare(QUICK[:4], STEADY, RANKS)
    assert not found.separated
    assert found.reason.startswith("4 and 5 durations are too few")


def test_equal_durations_count_against_separation():
    touching = compare([1.0, 1.1, 1.2, 1.3, 2.0], [2.0, 3.0, 3.1, 3.2, 3.3], RANKS)
    assert not touching.separated


def test_one_duration_each_is_no_comparison():
    assert not compare([1.0], [100.0], RANKS).separated


@settings(max_examples=200, deadline=None)
@given(durations, durations, st.sampled_from([RANKS, RANGES]))
def test_the_rule_is_symmetric_and_independent_of_the_unit(first, other, rule):
    found = compare(first, other, rule)
    assert compare(other, first, rule).separated == found.separated
    doubled = compare([2 * x for x in first], [2 * x for x in other], rule)
    assert doubled.separated == found.separated


@settings(max_examples=200, deadline=None)
@given(durations, st.sampled_from([RANKS, RANGES]))
def test_an_option_is_never_told_apart_from_itself(times, rule):
    assert not compare(times, times, rule).separated


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), durations, max_size=7))
def test_groups_hold_each_option_once_and_part_only_what_is_told_apart(times):
    order = ranked(times)
    compared = list(pairs(times, RANGES))
    together = [(first, other) for first, other, found in compared if not found.separated]
    found = groups(order, together)
    assert [option for group in found for option in group] == order
    place = {option: index for index, group in enumerate(found) for option in group}
    for first, other, comparison in compared:
        if place[first] != place[other]:
            assert comparison.separated
    for group in found:  # a group is joined: each but the last reaches further
        for index in range(1, len(group)):
            assert any(a in group[:index] and b in group[index:] for a, b in together)


def test_a_chain_is_one_group():
    order = ["a", "b", "c", "d"]
    assert groups(order, [("a", "b"), ("b", "c")]) == [["a", "b", "c"], ["d"]]
    assert groups(order, []) == [["a"], ["b"], ["c"], ["d"]]
    assert groups([], []) == []


def test_the_sealed_default_is_the_rule_that_the_simulation_was_made_for():
    simulation = load_simulation()
    default = Separation()
    rule = simulation.RULES[simulation.DEFAULT]
    assert (rule.rule, rule.level, rule.gap_factor) == (
        default.rule,
        default.level,
        default.gap_factor,
    )


@pytest.mark.parametrize("repetitions", [5, 7, 10])
@pytest.mark.parametrize(
    "kind", ["steady", "drifting", "position effect", "rare long outliers", "busy neighbour"]
)
def test_equal_options_are_told_apart_in_at_most_five_percent(kind, repetitions):
    simulation = load_simulation()
    generator = np.random.default_rng(1)
    noise = simulation.NOISES[kind]
    times = simulation.durations(noise, generator, 2000, repetitions, 0.01, 0.0)
    assert simulation.equal_told_apart(times)[simulation.DEFAULT] <= 0.05


def test_a_difference_of_twenty_percent_is_seen():
    simulation = load_simulation()
    generator = np.random.default_rng(1)
    times = simulation.durations(simulation.steady, generator, 500, 5, 0.03, 0.20)
    assert simulation.different_told_apart(times)[simulation.DEFAULT] > 0.99


def load_simulation():
    path = ROOT / "benchmarks" / "separation.py"
    spec = importlib.util.spec_from_file_location("separation_simulation", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_permutation_test_tries_every_rearrangement():
    found = permutation_test(QUICK, STEADY)
    everything = QUICK + STEADY
    observed = abs(np.mean(QUICK) - np.mean(STEADY))
    extreme = 0
    for chosen in combinations(range(10), 5):
        one = [everything[index] for index in chosen]
        other = [everything[index] for index in set(range(10)) - set(chosen)]
        extreme += abs(np.mean(one) - np.mean(other)) >= observed - 1e-12
    assert found.p_value == pytest.approx(extreme / 252)


def test_the_interval_of_the_ratio_holds_the_ratio():
    found = ratio_interval(QUICK, STEADY)
    assert found.low < 2.0 < found.high
    assert found.high - found.low < 0.1


def test_an_interval_of_equal_durations_has_no_width():
    found = ratio_interval([2.0] * 5, [4.0] * 5)
    assert (found.low, found.high) == (2.0, 2.0)


@pytest.mark.parametrize(("test", "few"), [(permutation_test, [1.0]), (ratio_interval, [1.0, 2.0])])
def test_too_few_durations_have_no_figure_but_a_reason(test, few):
    found = test(few, STEADY)
    assert found.p_value is None and found.low is None
    assert "fewer than" in found.reason


def rotated_passes(effect):
    """Three variants over six rounds; the first place takes `effect` times as long."""
    generator = np.random.default_rng(5)
    passes = {}
    for rounds in range(6):
        for place in range(3):
            name = "abc"[(rounds + place) % 3]
            factor = effect if place == 0 else 1.0
            passes.setdefault(name, []).append((place, factor * generator.normal(10, 0.05)))
    return passes


def test_a_position_effect_is_found_where_there_is_one():
    assert position_effect(rotated_passes(1.05)).p_value < 0.01
    assert position_effect(rotated_passes(1.0)).p_value > 0.05


def test_a_position_effect_needs_several_places():
    found = position_effect({"a": [(0, 1.0), (0, 1.1)]})
    assert found.p_value is None and "positions" in found.reason


def test_findings_name_rule_and_definition(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    campaign.judge()
    campaign.tabulate()
    found = json.loads(campaign.path("separation.json").read_text())
    assert found["definition"] == 2
    assert found["rule"]["rule"] == "ranks-and-gap"
    assert found["groups"] == [[["card", "b8"]], [["card", "b1"]]]
