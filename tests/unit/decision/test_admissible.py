"""Every condition of admissibility fails for its own cell of the tables, and for nothing else."""

import csv

import pytest

from atpar.canonical import read_json, write_json
from atpar.errors import AtparError

STEADY = [20.0, 20.1, 19.9, 20.2, 20.0]
QUICK = [10.0, 10.1, 9.9, 10.2, 10.0]


@pytest.fixture(scope="module")
def written(recorded_once):
    """Return a campaign whose tables are written: b1 on `dear`, the quicker b8 on `cheap`."""
    recorded = recorded_once
    prices = {
        "dear": recorded.price("220.00", meets_deadline=True),
        "cheap": recorded.price("110.00", meets_deadline=True),
    }
    campaign = recorded(prices=prices)
    campaign.add_option("b1", STEADY, offer="dear")
    campaign.add_option("b1", STEADY, offer="cheap")
    campaign.add_option("b8", QUICK, offer="cheap")
    campaign.judge()
    campaign.tabulate()
    campaign.pay()
    return campaign


@pytest.fixture
def tables(written, tmp_path):
    """Return a copy of those tables, to be changed."""
    return written.copied(tmp_path / "copy")


def change(campaign, table, where, **cells):
    """Change cells in the rows of a table that hold `where`."""
    path = campaign.path(f"{table}.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        rows, columns = list(reader), reader.fieldnames
    hit = [row for row in rows if where.items() <= row.items()]
    assert hit, f"{table}.csv has no row with {where}"
    for row in hit:
        row |= cells
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)


CHEAP_B8 = {"offer": "cheap", "variant": "b8"}
CHANGES = [
    ("summary", CHEAP_B8, {"missing_passes": "1"}, "unfinished"),
    (
        "summary",
        CHEAP_B8,
        {"failed_passes": "1", "failure_kinds": "1 x signal in load"},
        "failures",
    ),
    (
        "summary",
        CHEAP_B8,
        {"failed_passes": "1", "failure_kinds": "1 x out_of_memory in measured"},
        "memory",
    ),
    ("summary", CHEAP_B8, {"quality_verdict": "rejected", "failed_checks": "minimum"}, "quality"),
    ("summary", CHEAP_B8, {"quality_verdict": "not judged"}, "quality"),
    ("deliverables", CHEAP_B8, {"accepted": "false", "reason": "lost"}, "deliverables"),
    ("balance", CHEAP_B8, {"covers_window": "false"}, "coverage"),
    ("balance", CHEAP_B8, {"engaged_amount": "", "engaged_reason": "no price"}, "cost"),
    ("window", {"offer": "cheap"}, {"meets_deadline": "false"}, "deadline"),
    ("attempts", CHEAP_B8, {"entries_truncated": "1"}, "work"),
    ("attempts", CHEAP_B8, {"entries_truncated": ""}, "work"),
    ("attempts", {**CHEAP_B8, "repetition": "3"}, {"entries_truncated": "1"}, "work"),
    ("attempts", CHEAP_B8, {"model_digest": "0" * 64}, "work"),
    ("attempts", CHEAP_B8, {"tokenizer_digest": "0" * 64}, "work"),
    ("attempts", CHEAP_B8, {"evaluation_digest": "0" * 64}, "work"),
    ("attempts", CHEAP_B8, {"seal_digest": "0" * 64}, "work"),
]


def test_the_untouched_tables_choose_it(tables):
    decision, _ = tables.decide_again()
    assert str(decision.choice) == "b8 on cheap"


@pytest.mark.parametrize(("table", "where", "cells", "check"), CHANGES)
def test_a_changed_cell_raises_its_own_objection_alone(tables, table, where, cells, check):
    change(tables, table, where, **cells)
    decision, text = tables.decide_again()
    [option] = [one for one in decision.options if (one.offer, one.variant) == ("cheap", "b8")]
    assert [one.check for one in option.objections] == [check]
    assert not option.admissible
    assert option.objections[0].sentence in text
    assert decision.choice is None or str(decision.choice) != "b8 on cheap"


def test_an_option_without_any_success_is_not_admissible_however_many_failures_are_accepted(tables):
    seal = read_json(tables.path("protocol/seal.json"))
    seal["sealed"]["protocol"]["failed_passes_accepted"] = 5
    write_json(tables.path("protocol/seal.json"), seal)
    failed = {"failed_passes": "5", "successes": "0", "failure_kinds": "5 x error in load"}
    nothing = {"quality_verdict": "not judged", "median_s": "", "durations_s": ""}
    change(tables, "summary", CHEAP_B8, **failed, **nothing)
    change(tables, "attempts", CHEAP_B8, status="error")
    decision, text = tables.decide_again()
    assert str(decision.choice) == "b1 on cheap"
    assert "5 of 5 passes failed" in text and "without any success" in text


def test_reference_passes_that_disagree_leave_no_standard(tables):
    change(tables, "attempts", {"offer": "dear", "variant": "b1"}, tokenizer_digest="0" * 64)
    decision, text = tables.decide_again()
    assert decision.outcome == "none"
    assert all([one.check for one in option.objections] == ["work"] for option in decision.options)
    assert "don't agree in tokenizer_digest" in text


def test_a_balance_of_another_campaign_is_refused(tables):
    path = tables.path("balance.csv")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("cheap,b8")]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(AtparError, match="no row for b8 on cheap"):
        tables.decide_again()


def test_a_single_best_pass_chooses_nothing(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", [5.0, 21.0, 21.2, 21.1, 20.9])
    decision, text = campaign.decide()
    assert decision.choice is None
    assert [one.variant for one in decision.leading] == ["b1", "b8"]
    assert "5, 21, 21.2, 21.1, 20.9 (21)" in text


def test_only_those_not_told_from_the_quickest_are_tied(recorded):
    campaign = recorded()
    campaign.add_option("b1", STEADY)
    campaign.add_option("b4", [10.05, 9.95, 10.1, 10.15, 10.2])
    campaign.add_option("b8", QUICK)
    decision, text = campaign.decide()
    assert decision.outcome == "tied"
    assert [one.variant for one in decision.leading] == ["b8", "b4"]
    assert "b1 on card is told apart from b8 on card" in text
