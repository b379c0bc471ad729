"""Attempts, summary and deliverables: what the raw table keeps, and what is derived from it."""

import csv
import json

import pandas as pd
import pandera.errors
import pytest

from atpar.decision.cells import ratio, seconds
from atpar.decision.tables import ATTEMPTS, SUMMARY
from atpar.engine.clocks import PHASES
from atpar.errors import AtparError

STEADY = [20.0, 20.1, 19.9, 20.2, 20.0]


def rows_of(campaign, table):
    with campaign.path(f"{table}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def tabulated(campaign):
    campaign.judge()
    campaign.tabulate()
    return campaign


def test_columns_are_those_of_the_schema_in_its_order(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    tabulated(campaign)
    assert list(rows_of(campaign, "attempts")[0]) == list(ATTEMPTS.columns)
    assert list(rows_of(campaign, "summary")[0]) == list(SUMMARY.columns)


def test_no_column_of_the_summary_is_a_percentile(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    tabulated(campaign)
    table = pd.read_csv(campaign.path("summary.csv"), dtype=str)
    SUMMARY.validate(table)
    with pytest.raises(pandera.errors.SchemaErrors, match="p95_s"):
        SUMMARY.validate(table.assign(p95_s="20.2"))


def test_every_column_is_described():
    for schema in (ATTEMPTS, SUMMARY):
        assert all(column.description for column in schema.columns.values())


def test_a_missing_measurement_is_an_empty_cell_with_its_reason(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY[:4])
    campaign.add_pass("b1", 5, status="out_of_memory", entries_completed=7, wall_time_s=None)
    row = rows_of(tabulated(campaign), "attempts")[-1]
    assert row["main_time_s"] == "" and row["main_time_reason"]
    assert row["compile_s"] == "" and "compile: the variant isn't compiled" in row["phase_reasons"]
    assert row["peak_device_reserved_measured_bytes"] == ""
    assert row["entries_completed"] == "7" and row["metric_value"] == ""
    summary = rows_of(campaign, "summary")[0]
    assert summary["attempts_without_wall_time"] == "1"
    assert summary["failure_kinds"] == "1 x out_of_memory in measured"


def test_a_reason_with_line_ends_of_every_kind_stays_one_cell(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    reason = "RuntimeError: 10 %\r100 %\r\nfailed\nat\u2028once"
    campaign.add_pass("b8", 1, status="error", entries_completed=0, reason=reason)
    rows = rows_of(tabulated(campaign), "attempts")
    assert [row["attempt_id"] for row in rows][-1] == "card/b8/1/1" and len(rows) == 6
    assert rows[-1]["reason"] == "RuntimeError: 10 %\n100 %\nfailed\nat\u2028once"
    assert rows[-1]["status"] == "error"
    assert "\r" not in campaign.path("attempts.csv").read_bytes().decode()


def test_an_attempt_that_was_repeated_is_not_judged_anew(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_pass("b1", 2, attempt_number=2, main_time_s=19.0)
    rows = {row["attempt_id"]: row for row in rows_of(tabulated(campaign), "attempts")}
    assert rows["card/b1/2/1"]["counted"] == "false"
    assert rows["card/b1/2/1"]["corpus_accepted"] == ""  # its predictions gave way to the later
    assert "a later attempt" in rows["card/b1/2/1"]["notes"]
    assert rows["card/b1/2/2"]["corpus_accepted"] == "true"
    assert rows_of(campaign, "summary")[0]["durations_s"] == "20;19.9;20.2;20;19"


def test_durations_are_in_measured_order_and_median_min_max_are_theirs(recorded):
    campaign = recorded()
    campaign.add_option("b1", [5.5, 1.25, 9.0, 3.0])
    row = rows_of(tabulated(campaign), "summary")[0]
    assert row["durations_s"] == "5.5;1.25;9;3"
    assert (row["median_s"], row["min_s"], row["max_s"]) == ("4.25", "1.25", "9")
    assert row["spread_s"] == "7.75"
    assert row["missing_passes"] == "1"
    assert row["startup_median_s"] == "3.5"
    assert (row["entries_per_s"], row["tokens_per_s"]) == ("47.0588", "941.176")
    assert row["padding_ratio"] == "1.25"


def test_every_phase_has_its_own_median(recorded):
    campaign = recorded()
    for repetition, inference in enumerate([7.0, 9.5, 8.0], start=1):
        phases = {"start": 0.5, "import": 2.0, "load": float(repetition), "inference": inference}
        campaign.add_pass("b1", repetition, phases_s=phases)
    row = rows_of(tabulated(campaign), "summary")[0]
    assert {name: row[f"{name}_median_s"] for name in PHASES} == {
        **dict.fromkeys(PHASES, ""),
        "start": "0.5",
        "import": "2",
        "load": "2",
        "inference": "8",
    }


def test_an_option_without_success_has_no_duration_but_a_reason(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", STEADY, status="error", entries_completed=0)
    row = rows_of(tabulated(campaign), "summary")[1]
    assert row["median_s"] == "" and row["durations_reason"] == "no pass ended well"
    assert row["quality_verdict"] == "not judged"
    assert row["entries_per_s"] == "" and row["peak_memory_bytes"] == ""


def test_five_repetitions_are_one_deliverable(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    assert [row["accepted"] for row in rows_of(tabulated(campaign), "deliverables")] == ["true"]


def test_the_delivering_pass_is_the_first_accepted_one(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_pass("b8", 1, status="error", entries_completed=0)
    campaign.add_pass("b8", 2)
    rows = rows_of(tabulated(campaign), "deliverables")
    assert rows[1]["attempt_id"] == "card/b8/2/1"


def test_nothing_delivered_says_why(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", STEADY, table=campaign.table(campaign.wrong(range(1, 60))))
    row = rows_of(tabulated(campaign), "deliverables")[1]
    assert row["accepted"] == "false" and row["attempt_id"] == ""
    assert "below the minimum 0.85" in row["reason"]


def test_the_difference_to_the_reference_is_that_of_the_most_changed_pass(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_pass("b8", 1, table=campaign.table(campaign.wrong([1])))
    campaign.add_pass("b8", 2, table=campaign.table(campaign.wrong([1, 2])))
    rows = rows_of(tabulated(campaign), "summary")
    assert (rows[0]["metric_difference"], rows[0]["changed_labels"]) == ("0.0", "0")
    assert (rows[1]["metric_difference"], rows[1]["changed_labels"]) == ("-0.01", "2")
    assert float(rows[1]["metric_difference_low"]) < -0.01


def test_a_record_without_its_journal_is_refused(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.judge()
    options = campaign.options()
    journal = campaign.path("journal/card.jsonl")
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if "card/b1/5/1" not in line))
    assert campaign.options() == options
    with pytest.raises(AtparError, match="card/b1/5/1 is in no journal"):
        campaign.tabulate()


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("card/b1/7/1\tanother user\tticket\n", "isn't in the journal; did you mean"),
        ("card/b1/1\tanother user\tticket\n", "is no attempt"),
        ("card/b1/x/1\tanother user\tticket\n", "is no attempt"),
        ("card/b1/1/1\tanother user\t\n", "evidence"),
        ("card/b1/1/1\t\tticket\n", "cause"),
        ("card/b1/1/1\ta\tb\ncard/b1/1/1\ta\tb\n", "used twice"),
    ],
)
def test_an_exclusion_names_an_attempt_with_cause_and_evidence(recorded, row, word):
    campaign = recorded(exclusions=row)
    campaign.add_option("b1", STEADY)
    campaign.judge()
    with pytest.raises(AtparError, match=word):
        campaign.tabulate()


def test_attempts_of_several_journals_are_one_table_in_order_of_time(recorded):
    campaign = recorded(prices={"a": recorded.price(), "b": recorded.price()})
    campaign.add_pass("b1", 1, offer="b")
    campaign.add_pass("b1", 1, offer="a")
    campaign.add_pass("b1", 2, offer="b")
    names = [row["attempt_id"] for row in rows_of(tabulated(campaign), "attempts")]
    assert names == ["b/b1/1/1", "a/b1/1/1", "b/b1/2/1"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (10, "10"),
        (10.1234567, "10.123457"),
        (1e-7, "0"),
        (2.5e-6, "0.000003"),
        (None, None),
    ],
)
def test_durations_are_written_to_the_microsecond(value, text):
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234567.8, "1234568"), (0.0079365, "0.007937"), (2.0, "2"), (None, None)],
)
def test_derived_figures_have_no_exponent(value, text):
    assert ratio(value) == text


def test_every_table_and_verdict_names_the_seal(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", STEADY)
    tabulated(campaign)
    seal = campaign.digests["seal_digest"]
    for table in ("attempts", "summary", "separation", "deliverables"):
        assert {row["seal_digest"] for row in rows_of(campaign, table)} == {seal}, table
    for document in ("checks/card/b8", "quality/card/b8", "separation"):
        path = campaign.path(f"{document}.json")
        assert json.loads(path.read_text(encoding="utf-8"))["seal_digest"] == seal, document


def test_the_quality_file_holds_the_options_verdict(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    tabulated(campaign)
    found = json.loads(campaign.path("quality/card/b1.json").read_text(encoding="utf-8"))
    assert found["option"] == {"verdict": "accepted", "failed": []}


@pytest.mark.parametrize(
    ("cards", "energy", "reason"),
    [
        ([("valid", 250.5, None), ("valid", 100.0, None)], "350.5", None),
        ([("valid", 250.5, None), ("gap", None, "it jumped")], None, "gap: it jumped"),
        ([("no counter", None, "a CPU"), ("no counter", None, "a CPU")], None, "no counter: a CPU"),
        ([], None, None),
    ],
)
def test_energy_is_known_only_if_that_of_each_card_is(recorded, cards, energy, reason):
    campaign = recorded()
    names = ("validity", "energy_j", "reason")
    told = [dict(zip(names, card, strict=True)) for card in cards]
    campaign.add_pass("b1", 1, conditions={"energy": told})
    [row] = rows_of(tabulated(campaign), "attempts")
    assert (row["energy_j"], row["energy_reason"]) == (energy or "", reason or "")
