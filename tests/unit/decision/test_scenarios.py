"""Scenarios from recorded passes: what the decision says, and what it must not say."""

import csv

import numpy as np
import pytest

from atpar.canonical import read_json, write_json
from atpar.decision.model import SCHEMA, schema_text

STEADY = [20.0, 20.1, 19.9, 20.2, 20.0]
QUICK = [10.0, 10.1, 9.9, 10.2, 10.0]
OVERLAPPING = [19.8, 20.3, 20.0, 19.9, 20.4]


def objections(decision, variant, offer="card"):
    """Return the names of the checks that speak against an option."""
    option = next(one for one in decision.options if (one.offer, one.variant) == (offer, variant))
    return [one.check for one in option.objections]


def rows_of(campaign, table):
    with campaign.path(f"{table}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def leading(decision):
    return [one.variant for one in decision.leading]


def threats(decision):
    return {one.name for one in decision.threats}


def test_a_clear_winner_is_chosen(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    decision, text = campaign.decide()
    assert decision.outcome == "chosen"
    assert str(decision.choice) == "b8 on card"
    assert "**Chosen: b8 on card.**" in text
    assert "10, 10.1, 9.9, 10.2, 10 (10)" in text  # every duration, in measured order
    assert "Not separated" not in text and "Not admissible" not in text
    assert "p95" not in text and "percentile" not in text


def test_overlapping_options_are_not_separated(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", OVERLAPPING)
    decision, text = campaign.decide()
    assert decision.outcome == "tied" and decision.choice is None
    assert leading(decision) == ["b1", "b8"]
    assert "**Not separated: b1 on card and b8 on card.**" in text
    assert "Chosen" not in text
    assert "repetitions_added: 1" in decision.next_step


def test_the_cheaper_offer_is_chosen_though_slower(recorded):
    prices = {"cheap": recorded.price("110.00"), "dear": recorded.price("2071.00")}
    campaign = recorded(prices=prices)
    campaign.add_option("b1", STEADY, offer="cheap")
    campaign.add_option("b1", QUICK, offer="dear")
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on cheap"
    assert "110.00 USD; the next one engages 2071.00 USD" in text
    assert "Engaged: 110.00 USD for 1 accepted deliverable." in text


def test_a_fast_variant_that_fails_one_subgroup_is_not_admissible(recorded):
    campaign = recorded(protocol={"tolerance": {"reference": "b1", "largest_drop": 0.05}})
    campaign.add_option("b1", STEADY)
    # Two of the 20 long entries: 0.01 overall, 0.10 within the subgroup.
    campaign.add_option("int8", QUICK, table=campaign.table(campaign.wrong([181, 183])))
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert objections(decision, "int8") == ["quality"]
    assert "subgroup_tolerance" in text
    assert "Bucket long: accuracy is 0.1 below the reference's 0.9" in text
    assert "Chosen: int8" not in text


def test_label_flips_inside_the_tolerance_are_shown_and_accepted(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("bf16", QUICK, table=campaign.table(campaign.wrong([1, 2])))
    decision, _ = campaign.decide()
    assert str(decision.choice) == "bf16 on card"
    quality = read_json(campaign.path("quality/card/bf16.json"))["passes"][0]
    assert quality["changed_labels"] == 2 and quality["changed_ids"] == ["001", "002"]
    assert quality["metrics"]["accuracy"] == 0.89  # a drop of exactly 0.01, which is accepted


def test_label_flips_outside_the_tolerance_are_refused(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("bf16", QUICK, table=campaign.table(campaign.wrong([1, 2, 3])))
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert objections(decision, "bf16") == ["quality"]
    assert "accuracy is 0.015 below the reference's 0.9; at most 0.01 is accepted" in text.lower()


def test_four_successes_and_a_failure_are_not_admissible_by_default(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK[:4])
    campaign.add_pass("b8", 5, status="out_of_memory", entries_completed=180, wall_time_s=3.0)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert objections(decision, "b8") == ["memory"]
    assert "1 of 5 passes failed (1 x out_of_memory in measured; 180 of 200 entries" in text
    summary = {row["variant"]: row for row in rows_of(campaign, "summary")}["b8"]
    assert (summary["successes"], summary["failures"]) == ("4", "1")
    assert len(summary["durations_s"].split(";")) == 4  # the short failed pass is no duration


def test_a_failure_may_be_accepted_by_the_sealed_rule(recorded):
    campaign = recorded(protocol={"failed_passes_accepted": 1})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK[:4])
    campaign.add_pass("b8", 5, status="signal", signal=9, entries_completed=0)
    decision, text = campaign.decide()
    assert objections(decision, "b8") == []
    # Both cost the same; b1 had no failure, so it comes first although it is slower.
    assert str(decision.choice) == "b1 on card"
    assert "b8 on card had 1 failed attempt (1 x signal in measured), the leading ones none" in text
    assert "can be excluded" not in text


def test_a_failed_attempt_that_was_repeated_stays_visible(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    campaign.add_pass("b1", 3, attempt_number=2, main_time_s=20.0)
    campaign.add_pass("b8", 3, attempt_number=2, status="error", entries_completed=10)
    campaign.add_pass("b8", 3, attempt_number=3, main_time_s=10.0)
    decision, _ = campaign.decide()
    assert objections(decision, "b8") == []
    rows = rows_of(campaign, "attempts")
    assert len(rows) == 13
    repeated = [row for row in rows if row["attempt_id"].startswith("card/b8/3/")]
    assert [row["counted"] for row in repeated] == ["false", "false", "true"]
    assert str(decision.choice) == "b1 on card"


def test_an_excluded_pass_keeps_its_trace(recorded):
    campaign = recorded(exclusions="card/b8/2/1\tanother user's job\tticket 4711\n")
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", [10.0, 31.0, 9.9, 10.2, 10.0])
    campaign.add_pass("b8", 2, attempt_number=2, main_time_s=10.1)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b8 on card"
    assert "excluded" in threats(decision)
    assert "card/b8/2/1: another user's job (ticket 4711)" in text
    rows = {row["attempt_id"]: row for row in rows_of(campaign, "attempts")}
    assert rows["card/b8/2/1"]["excluded"] == "true"
    assert rows["card/b8/2/1"]["main_time_s"] == "31.0"


def test_an_excluded_pass_that_was_not_repeated_leaves_the_option_unfinished(recorded):
    campaign = recorded(exclusions="card/b8/2/1\tanother user's job\tticket 4711\n")
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    decision, text = campaign.decide()
    assert decision.outcome == "unfinished" and decision.choice is None
    assert objections(decision, "b8") == ["unfinished"]
    assert "1 of 5 planned passes is missing (1 attempt excluded)." in text
    assert "Chosen" not in text


def test_nothing_accepted_is_no_option_and_the_spending_stays(recorded):
    campaign = recorded(protocol={"minimum": 0.95})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    decision, text = campaign.decide()
    assert decision.outcome == "none" and decision.leading == []
    assert "**No option is admissible.**" in text
    assert "220.00 USD | 0 of 1 | nothing was accepted" in text
    assert "Chosen" not in text


def test_two_software_stacks_are_compared_as_whole_configurations(recorded):
    prices = {"a": recorded.price("110.00"), "b": recorded.price("220.00")}
    campaign = recorded(prices=prices, stacks={"b": {"torch": "2.12.0"}})
    campaign.add_option("b1", STEADY, offer="a")
    campaign.add_option("b1", QUICK, offer="b")
    decision, text = campaign.decide()
    assert "software stacks" in threats(decision)
    assert "torch (2.13.0 on a, 2.12.0 on b)" in text
    assert "whole configurations" in text


def test_two_corpora_with_one_rejected_are_an_incomplete_delivery(recorded):
    corpora = ["north"] * 100 + ["south"] * 100
    campaign = recorded(
        protocol={
            "deliverables": ["north", "south"],
            "deliverable_column": "corpus",
            "subgroups": [],
            "tolerance": {"reference": "b1", "largest_drop": 0.02},
        },
        columns={"corpus": corpora},
    )
    campaign.add_option("b1", STEADY)
    # Three of the south: 0.015 overall, which is accepted, 0.03 of the south, which isn't.
    campaign.add_option("b8", QUICK, table=campaign.table(campaign.wrong([101, 102, 103])))
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert objections(decision, "b8") == ["deliverables"]
    assert "1 of 2 expected deliverables isn't accepted: south." in text
    rows = rows_of(campaign, "deliverables")
    assert [row["accepted"] for row in rows] == ["true", "true", "true", "false"]
    assert [row["attempt_id"] for row in rows] == ["card/b1/1/1", "card/b1/1/1", "card/b8/1/1", ""]
    assert [row["entries"] for row in rows] == ["100", "100", "100", ""]


def test_a_recovery_variant_pays_for_what_it_recovers(recorded):
    campaign = recorded(recovers={"b8-split": "b8"})
    campaign.add_option("b1", STEADY)
    for repetition in range(1, 6):
        campaign.add_pass(
            "b8", repetition, status="out_of_memory", entries_completed=150, wall_time_s=8.0
        )
    campaign.add_option("b8-split", QUICK)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b8-split on card"
    assert objections(decision, "b8") == ["memory"]
    rows = {row["variant"]: row for row in rows_of(campaign, "summary")}
    own = sum(QUICK) + 5 * 4
    assert float(rows["b8-split"]["attempts_wall_s"]) == pytest.approx(own + 5 * 8)
    assert float(rows["b8"]["attempts_wall_s"]) == pytest.approx(own + 5 * 8)
    assert "b8-split on card recovers b8: 5 failed attempts of what it recovers are part" in text


def test_a_chain_of_recoveries_pays_for_all_of_it(recorded):
    campaign = recorded(recovers={"b2": "b4", "b4": "b8"})
    campaign.add_option("b1", STEADY)
    for variant, wall in (("b8", 8.0), ("b4", 7.0)):
        for repetition in range(1, 6):
            failed = {"status": "out_of_memory", "entries_completed": 9, "wall_time_s": wall}
            campaign.add_pass(variant, repetition, **failed)
    campaign.add_option("b2", QUICK)
    _, text = campaign.decide()
    rows = {row["variant"]: row for row in rows_of(campaign, "summary")}
    whole = sum(QUICK) + 5 * 4 + 5 * 8 + 5 * 7
    for variant in ("b2", "b4", "b8"):
        assert float(rows[variant]["attempts_wall_s"]) == pytest.approx(whole)
    assert float(rows["b1"]["attempts_wall_s"]) == pytest.approx(sum(STEADY) + 5 * 4)
    assert "b2 on card recovers b4, which recovers b8: 10 failed attempts" in text


def test_an_interrupted_pass_is_no_success(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK[:4])
    campaign.add_pass("b8", 5, attempt_number=1, finish=False)
    decision, text = campaign.decide()
    assert objections(decision, "b8") == ["failures"]
    assert "interrupted" in text
    rows = rows_of(campaign, "attempts")
    assert rows[-1]["status"] == "interrupted" and rows[-1]["main_time_s"] == ""


def test_missing_passes_are_unfinished(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK[:3])
    decision, text = campaign.decide()
    assert decision.outcome == "unfinished"
    assert "2 of 5 planned passes are missing." in text
    assert "**Unfinished: no decision.**" in text


def test_an_offer_that_was_not_measured_is_named(recorded):
    campaign = recorded(planned=[("card", "b1"), ("other-card", "b1")])
    campaign.add_option("b1", STEADY)
    decision, text = campaign.decide()
    assert decision.outcome == "unfinished"
    assert "## Not measured" in text and "b1 on other-card" in text


def test_short_spans_are_screening(recorded):
    campaign = recorded(protocol={"minimum_span_s": 15.0})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    decision, text = campaign.decide()
    assert decision.outcome == "screening" and decision.choice is None
    assert leading(decision) == ["b8"]
    assert "**Screening only: no decision.**" in text and "Chosen" not in text
    assert "10 s (b8 on card), below the sealed minimum of 15 s" in decision.next_step


def test_a_short_span_of_an_option_that_is_not_admissible_screens_nothing(recorded):
    campaign = recorded(protocol={"minimum_span_s": 15.0})
    campaign.add_option("b1", STEADY)
    campaign.add_option("int8", QUICK, table=campaign.table(campaign.wrong(range(1, 30))))
    decision, _ = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    span = decision.shortest_span
    assert (str(span.option), span.median_s, span.screening) == ("b1 on card", "20", False)


def test_the_shortest_admissible_span_is_the_one_named(recorded):
    campaign = recorded(protocol={"minimum_span_s": 25.0})
    campaign.add_option("b1", STEADY)
    campaign.add_option("int8", QUICK, table=campaign.table(campaign.wrong(range(1, 30))))
    decision, _ = campaign.decide()
    assert decision.outcome == "screening"
    assert "20 s (b1 on card), below the sealed minimum of 25 s" in decision.next_step


def test_the_span_minimum_itself_carries_a_decision(recorded):
    campaign = recorded(protocol={"minimum_span_s": 10.0})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    decision, _ = campaign.decide()
    assert decision.outcome == "chosen"


def test_an_aa_control_that_is_told_apart_flags_the_series(recorded):
    campaign = recorded(protocol={"control": ["b8", "b8-again"]})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    campaign.add_option("b8-again", [time + 5 for time in QUICK])
    decision, text = campaign.decide()
    assert "A/A control" in threats(decision)
    assert "the whole series is in doubt" in text
    assert decision.outcome == "tied"
    assert leading(decision) == ["b1", "b8"]
    assert "A/A control is told apart" in decision.next_step
    assert "repetitions_added" not in text


def test_an_aa_control_that_is_not_told_apart_flags_nothing(recorded):
    campaign = recorded(protocol={"control": ["b8", "b8-again"]})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    campaign.add_option("b8-again", [10.1, 9.9, 10.0, 10.2, 10.1])
    decision, text = campaign.decide()
    assert "A/A control" not in threats(decision)
    assert "in doubt" not in text
    # One setting under two names can't be told from itself, and needs not be.
    assert decision.outcome == "chosen" and str(decision.choice) == "b8 on card"
    assert "b8-again on card is the setting of b8 under a second name" in text


def test_a_control_alone_is_one_option(recorded):
    campaign = recorded(protocol={"control": ["b1", "again"]})
    campaign.add_option("b1", STEADY)
    campaign.add_option("again", OVERLAPPING)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert "Besides b1 on card no other option is admissible." in text


def test_a_control_whose_first_name_failed_is_ranked_by_its_second(recorded):
    campaign = recorded(protocol={"control": ["b8", "again"]})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK[:4])
    campaign.add_pass("b8", 5, status="error", entries_completed=0)
    campaign.add_option("again", QUICK)
    decision, _ = campaign.decide()
    assert str(decision.choice) == "again on card"


@pytest.mark.parametrize("status", ["interrupted", "refused"])
def test_a_failure_that_an_outside_cause_may_have_made_is_named_with_the_remedy(recorded, status):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_pass("b8", 1, status=status, entries_completed=0)
    campaign.add_option("b8", QUICK, attempt_number=2)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert f"b8 on card had 1 failed attempt (1 x {status} in measured)" in text
    assert "can be excluded, with its evidence, in the exclusions table" in text


def test_an_interruption_excluded_with_its_evidence_tips_nothing(recorded):
    campaign = recorded(exclusions="card/b8/1/1\tpower cut\tlog of the UPS\n")
    campaign.add_option("b1", STEADY)
    campaign.add_pass("b8", 1, status="interrupted", entries_completed=0)
    campaign.add_option("b8", QUICK, attempt_number=2)
    decision, _ = campaign.decide()
    assert str(decision.choice) == "b8 on card"


def test_an_amount_that_lacks_what_another_one_holds_is_marked(recorded):
    lacking = recorded.price("220.00", unknown="storage; transfer out")
    campaign = recorded(prices={"a": lacking, "b": recorded.price("221.00")})
    for offer in campaign.prices:
        campaign.add_option("b1", STEADY, offer=offer)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on a"
    assert "| 220.00 USD and what isn't known | 1 of 1 | 220.00 USD and what isn't known |" in text
    assert "| 221.00 USD | 1 of 1 | 221.00 USD |" in text
    assert (
        "Engaged: 220.00 USD and what isn't known (storage and transfer out) for 1 accepted "
        "deliverable. Another option may engage less once that is known." in text
    )
    [sentence] = [one for one in decision.separated_by if "don't lack the same" in one]
    assert "a: without storage and transfer out; b: nothing is missing" in sentence
    assert "may be the lowest once they are known" in sentence


def test_amounts_that_lack_the_same_are_marked_and_no_more(recorded):
    prices = {name: recorded.price(amount, unknown="storage") for name, amount in
              (("a", "220.00"), ("b", "221.00"))}  # fmt: skip
    campaign = recorded(prices=prices)
    for offer in prices:
        campaign.add_option("b1", STEADY, offer=offer)
    decision, text = campaign.decide()
    assert "220.00 USD and what isn't known (storage)" in text
    assert "Another option" not in text
    assert not any("don't lack the same" in one for one in decision.separated_by)


def test_what_only_the_dearer_amount_lacks_leaves_no_doubt(recorded):
    prices = {"a": recorded.price("220.00"), "b": recorded.price("221.00", unknown="storage")}
    campaign = recorded(prices=prices)
    for offer in prices:
        campaign.add_option("b1", STEADY, offer=offer)
    _, text = campaign.decide()
    assert "can only make the others dearer" in text and "Another option" not in text


def test_variants_of_one_offer_that_engage_different_amounts_are_named(recorded):
    price = recorded.price("220.00", expenses={"b8": "25.00"})
    campaign = recorded(prices={"card": price})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    _, text = campaign.decide()
    assert "b1 on card engages the lowest amount, 220.00 USD; the next one engages 245.00" in text


def test_an_option_that_was_not_judged_is_said_so_once(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    campaign.judge()
    quality = read_json(campaign.path("quality/card/b8.json"))
    for one in quality["passes"]:
        one["verdict"] = "not judged"
    write_json(campaign.path("quality/card/b8.json"), quality)
    campaign.tabulate()
    campaign.pay()
    _, text = campaign.decide_again()
    assert "Its quality is not judged." in text and "couldn't be judged" not in text


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"entries_truncated": 12}, "truncat"),
        ({"tokenizer_digest": "0" * 64}, "tokenizer"),
    ],
)
def test_other_work_is_refused(recorded, change, word):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK, **change)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert objections(decision, "b8") == ["work"]
    assert word in text.lower()


def test_a_pass_over_another_corpus_is_refused(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK, evaluation_digest="0" * 64)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert objections(decision, "b8") == ["work", "quality"]
    assert "Its passes ran over another evaluation corpus." in text


def test_a_threshold_moved_after_the_fact_lets_nobody_in(recorded):
    campaign = recorded(protocol={"minimum": 0.92})
    campaign.add_option("b1", STEADY)
    campaign.judge()
    campaign.tabulate()
    campaign.pay()
    # Somebody lowers the sealed minimum: the seal's digest is another one, the attempts name the
    # old one, and the tables still hold the old verdicts.
    seal = read_json(campaign.path("protocol/seal.json"))
    seal["sealed"]["protocol"]["minimum"] = 0.5
    seal["digest"] = "1" * 64
    write_json(campaign.path("protocol/seal.json"), seal)
    decision, text = campaign.decide_again()
    assert decision.outcome == "none"
    assert objections(decision, "b1") == ["work", "quality"]
    assert "measured under another sealed protocol" in text


def test_an_uncovered_window_and_a_missed_deadline_are_named(recorded):
    prices = {
        "short": recorded.price("100.00", covers=False),
        "late": recorded.price("110.00", meets_deadline=False),
        "fine": recorded.price("220.00", meets_deadline=True),
    }
    campaign = recorded(prices=prices)
    for offer in prices:
        campaign.add_option("b1", STEADY, offer=offer)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on fine"
    assert objections(decision, "b1", "short") == ["coverage"]
    assert objections(decision, "b1", "late") == ["deadline"]
    assert "doesn't cover the window of 96.0 h" in text


def test_an_unknown_amount_is_no_lowest_amount(recorded):
    prices = {
        "unknown": recorded.price(None, reason="no price of storage"),
        "known": recorded.price("220.00"),
    }
    campaign = recorded(prices=prices)
    campaign.add_option("b1", QUICK, offer="unknown")
    campaign.add_option("b1", STEADY, offer="known")
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on known"
    assert objections(decision, "b1", "unknown") == ["cost"]
    assert "no price of storage" in text


def test_two_modes_are_called_unstable(recorded):
    campaign = recorded()
    campaign.add_option("b1", [10.0, 10.1, 10.2, 19.5, 20.1])
    decision, text = campaign.decide()
    assert "unstable" in threats(decision)
    assert "10, 10.1, 10.2, 19.5, 20.1 (10.2)" in text


def test_the_text_follows_from_the_tables(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    _, before = campaign.decide()
    table = campaign.path("balance.csv")
    table.write_text(table.read_text().replace("220.00", "330.00"))
    _, after = campaign.decide_again()
    assert "330.00 USD" in after and "220.00" not in after
    assert after == before.replace("220.00", "330.00")


FOLLOWS = [
    # table, what stands in it, what is put there; gone from the text, said in its place
    ("summary", "10;10.1;9.9", "17;10.1;9.9", "10, 10.1, 9.9", "17, 10.1, 9.9"),
    ("summary", "accuracy,0.9,", "accuracy,0.87,", "accepted (0.9000)", "accepted (0.8700)"),
    ("separation", "their ranks differ", "their ranks vary", "ranks differ", "ranks vary"),
    ("deliverables", "card,b8,corpus,true", "card,b8,corpus,false", "Chosen: b8", "Chosen: b1"),
    ("balance", ",96,", ",120.5,", "| 96.00 |", "| 120.50 |"),
    ("balance", ",true,", ",false,", "Chosen", "doesn't cover the window of 96.0 h"),
    ("window", ",,,,1", ",2026-12-03T00:00:00Z,,false,1", "Chosen", "after the deadline"),
    ("attempts", ",,0.001,", ",,7.5,", None, "clock disagree by more than 1 s"),
]


@pytest.fixture(scope="module")
def decided(recorded_once):
    """A decided campaign of two options that are told apart."""
    campaign = recorded_once()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    return campaign, campaign.decide()[1]


@pytest.mark.parametrize(("table", "old", "new", "gone", "there"), FOLLOWS)
def test_a_changed_cell_changes_the_text(decided, tmp_path, table, old, new, gone, there):
    campaign, before = decided[0].copied(tmp_path / "results"), decided[1]
    path = campaign.path(f"{table}.csv")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    _, after = campaign.decide_again()
    assert gone is None or (gone in before and gone not in after)
    assert there in after and there not in before


def test_the_schema_of_the_decision_is_current():
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), (
        "run: python -m atpar.decision.model"
    )


def test_a_quick_pass_with_broken_scores_is_no_success(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    table = campaign.table()
    scores = np.array(table["scores"].to_pylist(), np.float32)
    scores[5] = np.nan
    broken = recorded.table(table["id"].to_pylist(), table["predicted"].to_pylist(), scores)
    campaign.add_option("b8", QUICK, table=broken)
    decision, text = campaign.decide()
    assert objections(decision, "b8") == ["quality"]
    assert "scores_finite" in text


def test_an_evaluation_corpus_that_was_judged_before_is_named(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.judge()
    campaign.tabulate()
    campaign.pay()
    path = campaign.path("protocol/seal.json")
    before = campaign.decide_again()[1]
    seal = read_json(path)
    seal["other_protocols_on_this_corpus"] = {"spring": "minimum"}
    seal["overlap"] = {"campaign": "winter", "entries": 7, "of": 30}
    write_json(path, seal)
    decision, text = campaign.decide_again()
    assert "judged the same evaluation corpus" not in before
    assert [one.name for one in decision.threats].count("corpus used before") == 2
    assert "Campaign spring judged the same evaluation corpus under another protocol" in text
    assert "7 of 30 entries were evaluated by the earlier campaign winter too" in text
