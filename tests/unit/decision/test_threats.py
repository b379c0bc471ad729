"""What was seen in the series: each threat appears for its own cause, and not without it."""

import pytest

from atpar.decision.drift import order_findings, sessions
from atpar.decision.speak import decision_lines
from atpar.decision.statistics import trend
from atpar.rows import read_rows

STEADY = [20.0, 20.1, 19.9, 20.2, 20.0]
QUICK = [10.0, 10.1, 9.9, 10.2, 10.0]


def threats(decision):
    return {one.name: one.sentence for one in decision.threats}


def two_options(campaign, **changes):
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK, **changes)
    return campaign


def test_a_quiet_series_has_no_threat(recorded):
    decision, text = two_options(recorded()).decide()
    assert threats(decision) == {}
    assert "What was seen in the series" not in text


@pytest.mark.parametrize(
    ("changes", "name", "word"),
    [
        ({"session_id": "next-day"}, "measured at another time", "b8 was measured at another time"),
        ({"clock_disagreement_s": -3600.0}, "clocks", "disagree by more than 1 s"),
        (
            {"notes": ["other processes kept 1.2 CPUs busy"]},
            "busy device",
            "busy during 5 of 10 attempts",
        ),
        ({"environment_digest": "0" * 64}, "changed machine", "2 different environments"),
        (
            {"device": {"kind": "cuda", "name": "NVIDIA B200", "uuid": "GPU-2"}},
            "several devices",
            "ran on 2 devices",
        ),
    ],
)
def test_a_threat_appears_for_its_own_cause(recorded, changes, name, word):
    decision, text = two_options(recorded(), **changes).decide()
    assert list(threats(decision)) == [name]
    assert word in threats(decision)[name]
    assert threats(decision)[name] in text


def test_a_series_that_varies_several_options_is_a_threat(recorded):
    problem = "series 'first' varies 2 options at once (precision, order): not one cause"
    decision, text = two_options(recorded(series=[{"name": "first", "problem": problem}])).decide()
    assert list(threats(decision)) == ["several variables"]
    assert "Series 'first' varies 2 options at once" in threats(decision)["several variables"]
    assert threats(decision)["several variables"] in text


def test_a_metric_that_depends_on_the_seed_is_a_threat(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY, seed=1)
    for number, duration in enumerate(QUICK, start=1):
        wrong = campaign.wrong([101, 102]) if number % 2 else {}
        campaign.add_pass(
            "b8",
            number,
            table=campaign.table(wrong),
            main_time_s=duration,
            wall_time_s=duration + 4,
            seed=1 + number % 2,
        )
    decision, _ = campaign.decide()
    sentence = threats(decision)["seeds"]
    assert sentence.startswith("accuracy of b8 on card depends on the seed")
    assert "0.89 with seed 2 and 0.9 with seed 1" in sentence
    rows = read_rows(campaign.path("attempts.csv"))
    assert [row["seed"] for row in rows if row["variant"] == "b8"] == ["2", "1", "2", "1", "2"]


def test_the_series_of_an_attempt_is_the_planned_one(recorded):
    campaign = two_options(recorded())
    campaign.decide()
    assert {row["series"] for row in read_rows(campaign.path("attempts.csv"))} == {"first"}


def test_a_small_disagreement_of_clocks_is_none(recorded):
    decision, _ = two_options(recorded(), clock_disagreement_s=0.9).decide()
    assert threats(decision) == {}


def test_passes_measured_again_later_are_another_session(recorded):
    campaign = two_options(recorded())
    campaign.add_pass("b8", 2, attempt_number=2, main_time_s=10.0, session_id="next-day")
    decision, _ = campaign.decide()
    assert list(threats(decision)) == ["sessions"]
    assert "2 sessions" in threats(decision)["sessions"]


def test_quality_that_the_corpus_cannot_tell_is_named(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("bf16", QUICK, table=campaign.table(campaign.wrong([1, 2])))
    decision, text = campaign.decide()
    assert "quality uncertainty" in threats(decision)
    assert "differs from the reference's by -0.01, within the tolerance of 0.01" in text
    assert "over 200 entries" in text


def test_a_doubtful_amount_is_said_once_an_offer(recorded):
    prices = {"card": recorded.price("220.00", reason="without what isn't known: storage")}
    decision, text = two_options(recorded(prices=prices)).decide()
    assert text.count("without what isn't known: storage") == 1
    assert list(threats(decision)) == ["amount"]


def test_a_position_effect_is_named(recorded):
    campaign = recorded(protocol={"repetitions": 9})
    for repetition in range(1, 10):
        for place in range(3):
            variant = ["b1", "b4", "b8"][(repetition + place) % 3]
            slow = 1.0 if place == 0 else 0.0
            campaign.add_pass(
                variant, repetition, main_time_s=20 + slow + 0.01 * ((repetition * 7 + place) % 5)
            )
    decision, _ = campaign.decide()
    assert "position effect" in threats(decision)
    assert "trend" not in threats(decision)


def test_a_trend_is_named(recorded):
    campaign = recorded()
    for repetition in range(1, 6):
        for place in range(2):
            variant = ["b1", "b8"][(repetition + place) % 2]
            time = 20 + 0.1 * (2 * repetition + place)
            campaign.add_pass(variant, repetition, main_time_s=time)
    decision, _ = campaign.decide()
    assert "became slower as the series went on" in threats(decision)["trend"]


def in_quarters(campaign, slow):
    """Add five passes of two variants, in turn at 9 h and at 15 h; those at 15 h take longer."""
    for repetition in range(1, 6):
        for place in range(2):
            variant = ["b1", "b8"][(repetition + place) % 2]
            hour = ("09", "15")[place]
            campaign.add_pass(
                variant,
                repetition,
                main_time_s=20 + slow * place + 0.01 * ((repetition * 7 + place) % 5),
                started_utc=f"2026-12-{repetition:02}T{hour}:00:00+00:00",
                finished_utc=f"2026-12-{repetition:02}T{hour}:30:00+00:00",
                position=0,
            )
    return campaign


def test_a_time_of_day_that_matters_is_named(recorded):
    decision, text = in_quarters(recorded(), slow=1.0).decide()
    assert "longest in 12-18 h UTC" in threats(decision)["time of day"]
    assert threats(decision)["time of day"] in text
    assert "position effect" not in threats(decision)


def test_hours_alone_are_no_threat(recorded):
    decision, _ = in_quarters(recorded(), slow=0.0).decide()
    assert "time of day" not in threats(decision)


def test_a_trend_needs_five_durations():
    assert trend([1.0, 1.1, 1.2, 1.3])[1].reason == "fewer than five durations"
    assert trend([1.0] * 9)[1].reason == "all durations are equal"
    slope, found = trend([1.0, 0.99, 0.98, 0.97, 0.96, 0.95])
    assert slope == pytest.approx(-1.0) and found.p_value < 0.01


def passes(*given):
    """Return rows of one offer from (variant, rank, start minute, end minute, session)."""
    return [
        {
            "attempt_id": f"card/{variant}/1/1",
            "offer": "card",
            "variant": variant,
            "planned_rank": str(rank),
            "started_utc": f"2026-11-30T10:{start:02}:00+00:00",
            "finished_utc": f"2026-11-30T10:{end:02}:00+00:00",
            "session_id": session,
        }
        for variant, rank, start, end, session in given
    ]


def test_planned_and_actual_order_agree():
    rows = passes(("a", 0, 0, 1, "s"), ("b", 1, 1, 2, "s"), ("c", 2, 2, 3, "s"))
    assert order_findings(rows) == {"sentences": [], "sessions": {"card": 1}}


def test_a_pass_out_of_turn_is_named():
    rows = passes(("b", 1, 0, 1, "s"), ("a", 0, 1, 2, "s"))
    [sentence] = order_findings(rows)["sentences"]
    assert sentence == "card/a/1/1 was planned before card/b/1/1, but ran after it"


def test_a_pass_that_was_repeated_in_another_session_is_not_out_of_turn():
    rows = passes(("b", 1, 0, 1, "s"), ("a", 0, 1, 2, "t"))
    found = order_findings(rows)
    assert found == {"sentences": [], "sessions": {"card": 2}}
    assert sessions(rows) == {"card": {"b": ["s"], "a": ["t"]}}


def test_overlapping_passes_are_named():
    rows = passes(("a", 0, 0, 5, "s"), ("b", 1, 4, 6, "s"))
    [sentence] = order_findings(rows)["sentences"]
    assert sentence == "card/b/1/1 started before card/a/1/1 had ended"


def test_the_decision_in_a_few_lines(recorded):
    campaign = two_options(recorded())
    campaign.add_option("b4", QUICK, entries_truncated=3)
    campaign.decide()
    lines = decision_lines(campaign.path("decision.json"))
    assert lines[0] == "Chosen: b8 on card. Engaged: 220.00 USD for 1 accepted deliverable."
    assert any("b4 on card" in line and "not admissible (work)" in line for line in lines)
    assert any("b1 on card is told apart from b8 on card" in line for line in lines)
    assert len(lines) < 10


def test_an_undecided_campaign_says_so_in_its_first_line(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", STEADY)
    campaign.decide()
    lines = decision_lines(campaign.path("decision.json"))
    assert lines[0].startswith("Not separated: b1 on card and b8 on card.")
    assert any("repetitions_added: 1" in line for line in lines)


@pytest.mark.parametrize("mode", ["none", "propose"])
def test_an_extension_is_proposed_only_if_the_seal_allows_it(recorded, mode):
    limit = 5 if mode == "propose" else 10
    campaign = recorded(protocol={"extension": {"mode": mode, "limit": limit}})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", STEADY)
    decision, _ = campaign.decide()
    if mode == "none":
        assert decision.next_step is None
    else:
        assert "limit of 5 repetitions is reached" in decision.next_step
