"""Thresholds at their boundary, subgroups, reproduction, and what is left unjudged."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.errors import AtparError
from atpar.quality.boundary import drop, reaches, within
from atpar.quality.values import Value
from atpar.quality.verdict import Judgement, judge, judge_subgroup

STEADY = [20.0, 20.1, 19.9, 20.2, 20.0]


@pytest.mark.parametrize(
    ("reference", "value", "largest", "accepted"),
    [
        (0.907, 0.897, 0.01, True),  # 0.010000000000000009 in floats
        (0.907, 0.896, 0.01, False),
        (0.3, 0.1, 0.2, True),
        (0.9, 0.9, 0.0, True),
        (0.9, 0.9 - 1e-11, 0.0, False),
        (0.9, 0.95, 0.0, True),
    ],
)
def test_a_drop_at_the_tolerance_is_accepted(reference, value, largest, accepted):
    assert within(reference, value, largest) is accepted


@given(st.integers(1, 5000), st.data())
def test_a_share_reaches_itself_and_nothing_above(total, data):
    right = data.draw(st.integers(0, total))
    assert reaches(right / total, right / total)
    assert within(right / total, right / total, 0.0)
    if right < total:
        assert not reaches(right / total, (right + 1) / total)


@given(st.integers(1, 2000), st.data())
def test_a_drop_of_entries_is_compared_in_entries(total, data):
    """`k` entries worse is within a tolerance of `k / total` as a person writes it, not below."""
    reference = data.draw(st.integers(0, total))
    lost = data.draw(st.integers(0, reference))
    written = round(lost / total, 12)
    assert within(reference / total, (reference - lost) / total, written + 2e-12)
    if lost:
        assert not within(reference / total, (reference - lost) / total, (lost - 1) / total)
    assert drop(reference / total, reference / total) == 0.0


def protocol(**changes):
    tolerance = {
        "reference": "b1",
        "largest_drop": 0.01,
        "largest_subgroup_drop": 0.05,
        "smallest_agreement": None,
        "smallest_subgroup_agreement": None,
    }
    tolerance |= changes.pop("tolerance", {})
    given_ = {
        "metric": "accuracy",
        "minimum": 0.85,
        "subgroup_minimum": None,
        "subgroup_size": 20,
        "tolerance": tolerance,
    }
    return {**given_, **changes}


def judged(value, reference=0.9, agreement=1.0, **changes):
    judgement = Judgement()
    judge(protocol(**changes), Value(value), Value(reference), Value(agreement), judgement)
    return judgement


def test_each_limit_fails_its_own_check():
    assert judged(0.9).failed == []
    assert judged(0.84, reference=0.845).failed == ["minimum"]
    assert judged(0.88).failed == ["tolerance"]
    assert judged(0.8).failed == ["minimum", "tolerance"]
    strict = {"tolerance": {"smallest_agreement": 0.99}}
    assert judged(0.9, agreement=0.985, **strict).failed == ["agreement"]
    assert judged(0.9, agreement=0.99, **strict).failed == []


def test_what_cannot_be_judged_is_not_accepted():
    judgement = Judgement()
    judge(protocol(), Value(0.9), Value(None, "no pass"), Value(None, "no pass"), judgement)
    assert judgement.verdict == "not judged"
    assert judgement.as_values()["reasons"] == [
        "the tolerance of accuracy can't be judged: no pass"
    ]


def test_an_undefined_metric_is_not_judged_rather_than_zero():
    judgement = Judgement()
    judge(protocol(), Value(None, "no entries"), Value(0.9), Value(1.0), judgement)
    assert judgement.verdict == "not judged" and judgement.failed == []


def group(value, entries=100, undefined=None):
    return {
        "column": "bucket",
        "value": "long",
        "entries": entries,
        "metric": "accuracy",
        "value_of_metric": value,
        "undefined": undefined,
    }


def subgroup(found, reference=0.9, agreement=1.0, **changes):
    judgement = Judgement()
    reference = Value(reference) if reference is not None else Value(None, "no pass")
    result = judge_subgroup(protocol(**changes), found, reference, Value(agreement), judgement)
    return result, judgement


@pytest.mark.parametrize(
    ("found", "changes", "failed"),
    [
        (group(0.85), {}, []),
        (group(0.84), {}, ["subgroup_tolerance"]),
        (group(0.86), {"subgroup_minimum": 0.87}, ["subgroup_minimum"]),
        (
            group(0.9),
            {"tolerance": {"smallest_subgroup_agreement": 0.999}, "agreement": 0.99},
            ["subgroup_agreement"],
        ),
    ],
)
def test_subgroup_limits_fail_their_own_check(found, changes, failed):
    result, judgement = subgroup(found, **changes)
    assert judgement.failed == failed
    assert result["verdict"] == ("rejected" if failed else "accepted") and result["judged"]


def test_a_small_subgroup_is_insufficient_neither_passed_nor_absent():
    result, judgement = subgroup(group(0.0, entries=19))
    assert (result["verdict"], result["judged"]) == ("insufficient", False)
    assert "19 entries" in result["reason"]
    assert judgement.verdict == "accepted"
    assert subgroup(group(0.0, entries=20))[1].failed == ["subgroup_tolerance"]


def test_an_undefined_subgroup_is_undefined():
    result, judgement = subgroup(group(None, undefined="a single class"))
    assert (result["verdict"], result["judged"]) == ("undefined", False)
    assert judgement.failed == []


def test_a_subgroup_without_reference_pass_is_not_judged():
    result, judgement = subgroup(group(0.9), reference=None)
    assert result["verdict"] == "not judged" and judgement.verdict == "not judged"


def test_without_limits_subgroups_are_reported():
    result, judgement = subgroup(group(0.1), tolerance={"largest_subgroup_drop": None})
    assert result["verdict"] == "not judged" and judgement.verdict == "accepted"


def quality_of(campaign, variant, offer="card"):
    campaign.judge()
    path = campaign.path(f"quality/{offer}/{variant}.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_an_entry_without_a_value_is_a_subgroup_of_its_own(recorded):
    values = [None] * 30 + ["x"] * 150 + ["y"] * 20
    campaign = recorded(
        protocol={"subgroups": ["region"], "subgroup_size": 25}, columns={"region": values}
    )
    campaign.add_option("b1", STEADY)
    groups = quality_of(campaign, "b1")["passes"][0]["subgroups"]
    assert [(one["value"], one["entries"], one["verdict"]) for one in groups] == [
        ("(no value)", 30, "accepted"),
        ("x", 150, "accepted"),
        ("y", 20, "insufficient"),
    ]


@pytest.mark.parametrize(
    ("kind", "shift", "flips", "failed"),
    [
        ("identical", 0.0, [], []),
        ("identical", 1e-6, [], ["reproduction"]),
        ("identical", 0.0, [1], ["reproduction"]),
        ("bounded", 0.0005, [], []),
        ("bounded", 0.05, [], ["reproduction"]),
        ("acceptable", 0.05, [1], []),
    ],
)
def test_what_is_to_be_reproduced(recorded, kind, shift, flips, failed):
    campaign = recorded(protocol={"reproduction": {"kind": kind}})
    campaign.add_option("b1", STEADY)
    table = campaign.table(campaign.wrong(flips), shift=shift)
    campaign.add_option("b8", STEADY, table=table)
    found = quality_of(campaign, "b8")["passes"][0]
    assert found["failed"] == failed
    assert found["changed_labels"] == len(flips)


def test_repetitions_that_differ_from_each_other_are_found(recorded):
    campaign = recorded(protocol={"reproduction": {"kind": "identical"}})
    campaign.add_option("b1", STEADY[:2])
    campaign.add_pass("b1", 3, table=campaign.table(campaign.wrong([7])))
    found = quality_of(campaign, "b1")["passes"]
    assert [one["failed"] for one in found] == [[], [], ["reproduction"]]
    reasons = " ".join(found[2]["reasons"])
    assert "against the option's first pass: 1 of the answers changed" in reasons
    assert found[2]["changed_ids"] == ["007"]


def test_many_flips_are_counted_and_twenty_are_named(recorded):
    campaign = recorded(protocol={"tolerance": {"reference": "b1", "largest_drop": 1.0}})
    campaign.add_option("b1", STEADY[:1])
    flips = [index for index in range(1, 60) if index % 10]
    campaign.add_option("b8", STEADY[:1], table=campaign.table(campaign.wrong(flips)))
    found = quality_of(campaign, "b8")["passes"][0]
    assert found["changed_labels"] == len(flips) > 20
    assert found["changed_ids"] == [f"{index:03}" for index in flips[:20]]


def test_without_a_reference_pass_nothing_is_accepted(recorded):
    campaign = recorded()
    campaign.add_pass("b1", 1, status="error", entries_completed=0)
    campaign.add_option("b8", STEADY)
    found = quality_of(campaign, "b8")
    assert found["reference_attempt_id"] is None
    assert found["option"]["verdict"] == "not judged"
    assert "'b1' has no complete pass" in found["passes"][0]["reasons"][0]


def test_the_reference_is_the_first_complete_pass(recorded):
    campaign = recorded()
    campaign.add_pass("b1", 1, status="error", entries_completed=0)
    campaign.add_pass("b1", 2)
    found = quality_of(campaign, "b1")
    assert found["reference_attempt_id"] == "card/b1/2/1"


def test_a_pass_that_failed_its_checks_has_no_metric(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_pass("b8", 1, status="out_of_memory", entries_completed=150)
    [found] = quality_of(campaign, "b8")["passes"]
    assert found["metrics"] == {} and found["verdict"] == "rejected"
    assert found["failed"] == ["status", "ids_missing"]


def test_a_reference_label_that_the_model_does_not_have_is_refused(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    path = campaign.path("corpus/reference.parquet")
    table = pq.read_table(path)
    labels = table["label"].to_pylist()
    labels[3] = "LABEL_1"
    pq.write_table(table.set_column(1, "label", pa.array(labels)), path)
    with pytest.raises(AtparError, match=r"entry 003 has the answer LABEL_1.*label_map"):
        campaign.judge()


def test_without_labels_agreement_is_judged(recorded):
    campaign = recorded(
        protocol={
            "metric": "agreement",
            "minimum": 0.98,
            "subgroups": [],
            "tolerance": {"reference": "b1", "largest_drop": 0.02},
        }
    )
    path = campaign.path("corpus/reference.parquet")
    table = pq.read_table(path)
    nothing = pa.nulls(200, pa.large_string())
    pq.write_table(table.set_column(1, "label", nothing), path)
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", STEADY, table=campaign.table(campaign.wrong([1, 2])))
    campaign.add_option("b4", STEADY, table=campaign.table(campaign.wrong(range(1, 10))))
    assert quality_of(campaign, "b8")["option"]["verdict"] == "accepted"
    found = quality_of(campaign, "b4")
    assert found["option"]["failed"] == ["minimum", "tolerance"]
    assert found["passes"][0]["metrics"]["accuracy"] is None
    assert "no reference answers" in found["passes"][0]["undefined"]["accuracy"]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (["north"] * 200, "no entry of the evaluation corpus has 'south'"),
        (["north"] * 100 + ["south"] * 50 + ["east"] * 50, "no expected deliverable"),
        (["north"] * 100 + ["south"] * 50 + [None] * 50, "no expected deliverable"),
    ],
)
def test_deliverables_and_their_column_must_agree(recorded, values, word):
    campaign = recorded(
        protocol={"deliverables": ["north", "south"], "deliverable_column": "corpus"},
        columns={"corpus": values},
    )
    campaign.add_option("b1", STEADY[:1])
    with pytest.raises(AtparError, match=word):
        campaign.judge()


def test_the_interval_shows_what_200_entries_can_tell(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY[:1])
    campaign.add_option("b8", STEADY[:1], table=campaign.table(campaign.wrong([1, 2])))
    found = quality_of(campaign, "b8")["passes"][0]
    assert found["difference"] == -0.01
    assert found["interval"]["low"] < -0.01 < found["interval"]["high"] <= 0.0
    assert np.isclose(found["interval"]["level"], 0.95)
