"""A tied series grows by itself only under the sealed rule, on one machine, up to the limit."""

import json

import pytest
from snakemake.settings.types import DAGSettings

from atpar.config.granted import FILE, granted_rounds
from atpar.decision.extension import grant, repeatable
from atpar.errors import AtparError
from atpar.journal import journal

CLOSE = {"b1": [20.0, 20.4, 19.8], "b4": [20.1, 19.9, 20.3]}


def tied(recorded, seconds=CLOSE, **protocol):
    """Return a decided campaign of three repetitions whose options aren't told apart."""
    rule = {"mode": "automatic", "limit": 5}
    campaign = recorded(protocol={"repetitions": 3, "extension": rule, **protocol})
    for variant, times in seconds.items():
        campaign.add_option(variant, times)
    decision, _ = campaign.decide()
    assert decision.outcome == "tied"
    return campaign, decision


def test_a_tie_is_granted_one_more_round_for_all(recorded):
    campaign, decision = tied(recorded)
    assert "extends the series by itself, up to 5 repetitions" in decision.next_step
    said = grant(campaign.folder, ["card"], 3)
    assert "aren't told apart after 3 repetitions" in said
    (event,) = journal.read(campaign.folder / FILE)
    assert (event["event"], event["repetition"]) == ("extended", 4)
    assert event["seal_digest"] == campaign.digests["seal_digest"]
    assert sorted(event["tied"]) == ["b1 on card", "b4 on card"]
    assert granted_rounds(campaign.folder, 3) == 1
    # The decision is still of three repetitions: it asks for nothing more.
    assert grant(campaign.folder, ["card"], 4) is None
    assert granted_rounds(campaign.folder, 3) == 1


@pytest.mark.parametrize(
    ("rule", "here"),
    [
        ({"mode": "automatic", "limit": 3}, ["card"]),
        ({"mode": "propose", "limit": 5}, ["card"]),
        ({"mode": "none", "limit": 5}, ["card"]),
        ({"mode": "automatic", "limit": 5}, ["other"]),
        ({"mode": "automatic", "limit": 5}, []),
    ],
)
def test_nothing_is_granted_beyond_the_rule_or_where_others_measure(recorded, rule, here):
    campaign, _ = tied(recorded, extension=rule)
    assert grant(campaign.folder, here, 3) is None
    assert granted_rounds(campaign.folder, 3) == 0


def test_a_series_whose_control_is_told_apart_is_not_extended(recorded):
    apart = {"b1": [20.0, 20.1, 20.2, 20.1, 20.0], "b1again": [25.0, 25.1, 25.2, 25.1, 25.0]}
    apart["b4"] = apart["b1"]
    rule = {"mode": "automatic", "limit": 9}
    more = {"control": ["b1", "b1again"], "repetitions": 5, "extension": rule}
    campaign, _ = tied(recorded, apart, **more)
    assert grant(campaign.folder, ["card"], 5) is None


def test_the_two_names_of_a_sound_control_are_no_tie(recorded):
    rule = {"mode": "automatic", "limit": 9}
    campaign = recorded(protocol={"control": ["b4", "again"], "extension": rule})
    campaign.add_option("b1", [20.0, 20.1, 20.2, 20.1, 20.0])
    campaign.add_option("b4", [10.0, 10.1, 10.2, 10.1, 10.0])
    campaign.add_option("again", [10.1, 10.0, 10.2, 10.1, 10.1])
    assert str(campaign.decide()[0].choice) == "b4 on card"
    assert grant(campaign.folder, ["card"], 5) is None


def test_a_tie_names_a_control_once(recorded):
    seconds = {**CLOSE, "again": [20.0, 20.2, 20.1]}
    campaign, decision = tied(recorded, seconds, control=["b4", "again"])
    assert [one.variant for one in decision.leading] == ["b1", "b4"]
    assert "again on card" not in grant(campaign.folder, ["card"], 3)


def test_a_choice_asks_for_nothing_more(recorded):
    rule = {"mode": "automatic", "limit": 9}
    campaign = recorded(protocol={"extension": rule})
    campaign.add_option("b1", [20.0, 20.1, 20.2, 20.1, 20.0])
    campaign.add_option("b4", [10.0, 10.1, 10.2, 10.1, 10.0])
    assert campaign.decide()[0].outcome == "chosen"
    assert grant(campaign.folder, ["card"], 5) is None


def test_before_any_decision_nothing_is_granted(tmp_path):
    assert grant(tmp_path, ["card"], 3) is None
    assert granted_rounds(tmp_path, 3) == 0


def test_a_torn_line_grants_nothing_and_a_damaged_one_is_named(tmp_path):
    path = tmp_path / FILE
    path.parent.mkdir()
    whole = json.dumps({"event": "extended", "repetition": 4})
    other = json.dumps({"event": "extended", "repetition": 5})
    path.write_text(f'{whole}\n{{"event": "ext')
    assert granted_rounds(tmp_path, 3) == 1
    # The next writer closes a torn line with an event of its own, which is no round.
    torn = json.dumps({"event": "torn", "bytes": 14})
    path.write_text(f"{whole}\n{torn}\n{other}\n")
    assert granted_rounds(tmp_path, 3) == 2
    path.write_text(f"{whole}\n[]\n{whole}\n")
    with pytest.raises(AtparError, match="line 2: not a JSON object"):
        granted_rounds(tmp_path, 3)


@pytest.mark.parametrize(
    "forced", [{"forcerun": {"measure_pass"}}, {"forceall": True}, {"forcetargets": True}]
)
def test_a_command_that_forces_passes_is_not_repeated(forced):
    assert repeatable(DAGSettings())
    assert not repeatable(DAGSettings(**forced))
