"""The stages at their edges: tables in, tables out."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from atpar.calendar.plan import plan_calendar
from atpar.cli import main
from atpar.errors import AtparError
from atpar.money.keep import keep_ledger

TARIFFS = Path(__file__).parents[3] / "resources" / "tariffs"
OFFERS = [
    {"offer": "rtx", "provider": "iteragpu", "gpu": "rtx-4090", "lots": 2, "term_days": 7},
    {"offer": "b200", "provider": "iteragpu", "gpu": "b200", "lots": 1},
]
TASKS = """task\tkind\tduration\tafter\tstart\tzone\trental
install\twork\t2h\t\t2026-12-07T09:00\tEurope/Paris\tkept
measure\tpasses\t1h\tinstall\t\t\tkept
export\twork\t1h\tmeasure\t\t\tkept
write\twork\t5h\texport\t\t\treleased
"""
ATTEMPTS = """offer,variant,repetition,attempt_number,status,counted,started_utc,finished_utc,\
wall_time_s
rtx,b1,1,1,ok,True,2026-12-07T10:00:00Z,2026-12-07T10:30:00Z,1800
rtx,b8,1,1,out_of_memory,False,2026-12-07T10:30:00Z,2026-12-07T10:40:00Z,600
rtx,b8,1,2,interrupted,False,2026-12-07T10:40:00Z,,
rtx,b8,1,3,ok,True,2026-12-07T11:00:00Z,2026-12-07T11:20:00Z,1200.5
"""
SUMMARY = "offer,variant\nrtx,b1\nrtx,b8\n"
DELIVERABLES = """offer,variant,deliverable,accepted,entries,attempt_id,reason
rtx,b1,corpus,True,1000,rtx/b1/1/1,
rtx,b1,corpus,True,1000,rtx/b1/2/1,the same deliverable again
rtx,b8,corpus,False,,,below the minimum
"""
PASSES = [["rtx", "b1", 1], ["rtx", "b8", 1], ["rtx", "b1", 2], ["b200", "b1", 1]]


def rows(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(folder, **texts):
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, tasks=TASKS, attempts=ATTEMPTS, summary=SUMMARY, deliver=DELIVERABLES,
                 expenses="expense\toffer\tunit_price\tgrounds\n")  # fmt: skip


def plan(folder, attempts="attempts", deadline=None):
    plan_calendar(
        tasks=folder / "tasks",
        attempts=None if attempts is None else folder / attempts,
        calendar=folder / "calendar.csv",
        windows=folder / "window.csv",
        offers=["rtx", "b200"],
        passes=PASSES,
        zone="UTC",
        deadline=deadline,
    )
    return rows(folder / "calendar.csv"), {row["offer"]: row for row in rows(folder / "window.csv")}


def keep(folder, tariffs=(TARIFFS / "iteragpu-2026-09-24.csv",), **changes):
    values = {
        "summary": folder / "summary",
        "deliverables": folder / "deliver",
        "attempts": folder / "attempts",
        "windows": folder / "window.csv",
        "tariffs": tariffs,
        "expenses": folder / "expenses",
        "ledger": folder / "ledger.csv",
        "balance": folder / "balance.csv",
        "packages": folder / "packages.csv",
        "focus": folder / "focus.csv",
        "campaign": "test",
        "offers": OFFERS,
        "expected": 1,
        "currency": "USD",
        "rates": {},
        "price_age_days": 90,
    }
    keep_ledger(**values | changes)
    return [rows(folder / f"{name}.csv") for name in ("ledger", "balance", "packages")]


def test_attempts_replace_what_was_assumed(folder):
    calendar, windows = plan(folder, deadline="2026-12-07T20:00")
    passes = {row["pass"]: row for row in calendar if row["pass"]}
    assert passes["rtx/b1/1"]["duration_h"] == "0.500000"
    assert passes["rtx/b1/1"]["basis"] == "measured"
    # All attempts of a pass use rental time; the one cut off has no known length.
    assert passes["rtx/b8/1"]["duration_h"] == "0.500139"
    assert passes["rtx/b8/1"]["attempts"] == "3"
    assert passes["rtx/b8/1"]["actual_end_utc"] == "2026-12-07T11:20:00Z"
    assert (passes["rtx/b1/2"]["basis"], passes["rtx/b1/2"]["duration_h"]) == (
        "forecast",
        "0.500000",
    )
    assert passes["b200/b1/1"]["basis"] == "assumed"
    assert windows["rtx"]["planned_window_h"] == "6.000000"
    assert windows["rtx"]["window_h"] == "4.500139"
    assert windows["rtx"]["start_local"] == "Mon 2026-12-07 08:00 UTC"
    assert windows["rtx"]["meets_deadline"] == "true"
    assert windows["b200"]["window_h"] == "4.000000"
    assert [row["kept_rental"] for row in calendar if row["task"] == "write"] == ["false", "false"]


def test_the_plan_needs_no_attempts(folder):
    calendar, windows = plan(folder, attempts=None, deadline="2026-12-07T18:59")
    assert {row["basis"] for row in calendar} == {"assumed"}
    assert windows["rtx"]["window_h"] == "6.000000"
    assert (windows["rtx"]["meets_deadline"], windows["rtx"]["slack_h"]) == ("false", "-0.016667")


def test_without_a_fixed_start_the_first_pass_stands_where_it_was_measured(folder):
    write(folder, tasks=TASKS.replace("2026-12-07T09:00", ""))
    calendar, windows = plan(folder)
    [first] = [row for row in calendar if row["pass"] == "rtx/b1/1"]
    assert first["start_utc"] == first["planned_start_utc"] == "2026-12-07T10:00:00Z"
    assert windows["rtx"]["start_utc"] == "2026-12-07T08:00:00Z"


def test_ledger_and_balance_follow_from_the_tables(folder):
    plan(folder)
    ledger, balance, packages = keep(folder)
    assert {row["offer"] for row in ledger} == {"rtx"}  # b200 wasn't measured: nothing engaged
    known = sum(Decimal(row["amount"]) for row in ledger if row["amount"])
    assert known == Decimal("220.00")
    items = {(row["item"], row["variant"]) for row in ledger}
    assert ("rental: failed and repeated attempts", "b8") in items
    first, second = balance
    assert first["engaged_amount"] == second["engaged_amount"] == "220.00"
    assert (first["deliverables_accepted"], first["cost_per_deliverable"]) == ("1", "220.00")
    assert first["cost_per_million_entries"] == "220000.00"
    assert (second["deliverables_accepted"], second["cost_per_deliverable"]) == ("0", "")
    assert [row["kind"] for row in packages] == ["engaged", "candidate"]


@pytest.mark.parametrize(
    ("parts", "accepted", "cost", "per_million"),
    [
        # Two deliverables of 600 and 400 entries are one pass, not two of 1 000 entries [P33].
        (["north,True,600", "south,True,400"], "2", "110.00", "220000.00"),
        # What was rejected isn't among the entries, and the whole amount stays [P30].
        (["north,True,600", "south,False,"], "1", "220.00", "366666.67"),
        (["north,True,600", "north,True,600"], "1", "220.00", "366666.67"),
        (["north,False,", "south,False,"], "0", "", ""),
        (["north,True,", "south,True,400"], "2", "110.00", ""),
    ],
)
def test_a_million_entries_are_those_of_accepted_deliverables(
    folder, parts, accepted, cost, per_million
):
    head = DELIVERABLES.splitlines()[0]
    lines = [f"rtx,b1,{part},," for part in parts]
    write(folder, deliver="\n".join([head, *lines, ""]))
    plan(folder)
    _, balance, _ = keep(folder, expected=2)
    row = balance[0]
    assert (row["deliverables_expected"], row["deliverables_accepted"]) == ("2", accepted)
    assert (row["cost_per_deliverable"], row["cost_per_million_entries"]) == (cost, per_million)
    assert bool(per_million) != bool(row["cost_per_million_entries_reason"])


def test_the_ledger_as_focus_rows_adds_up_to_the_same_amounts(folder):
    plan(folder)
    ledger, _, _ = keep(folder)
    focus = rows(folder / "focus.csv")
    for cost in ("BilledCost", "EffectiveCost"):
        assert sum(Decimal(row[cost]) for row in focus) == Decimal("220.00")
    [purchase] = [row for row in focus if row["ChargeCategory"] == "Purchase"]
    assert (purchase["BilledCost"], purchase["ListUnitPrice"]) == ("220.00", "110.00")
    assert (purchase["PricingQuantity"], purchase["SkuId"]) == ("2", "")
    assert purchase["ChargePeriodStart"] == "2026-12-07T08:00:00Z"
    assert purchase["BillingPeriodEnd"] == "2027-01-01T00:00:00Z"
    [unused] = [row for row in focus if row["CommitmentDiscountStatus"] == "Unused"]
    [tail] = [row for row in ledger if row["item"] == "rental: paid but unused"]
    assert unused["EffectiveCost"] == tail["amount"]


def test_a_window_across_the_end_of_a_month_is_billed_until_the_month_in_which_it_ends(folder):
    write(
        folder,
        tasks=TASKS.replace("2026-12-07T09:00", "2026-11-30T21:00"),
        attempts=ATTEMPTS.replace("2026-12-07T1", "2026-11-30T2"),
    )
    plan(folder)
    keep(folder)
    first = rows(folder / "focus.csv")[0]
    assert first["BillingPeriodStart"] == "2026-11-01T00:00:00Z"
    assert first["ChargePeriodEnd"] > "2026-12-01"
    assert first["BillingPeriodEnd"] == "2027-01-01T00:00:00Z"


def test_a_list_price_in_another_currency_is_left_empty(folder):
    plan(folder)
    text = (TARIFFS / "iteragpu-2026-09-24.csv").read_text(encoding="utf-8")
    euros = folder / "euros.csv"
    euros.write_text(text.replace("USD", "EUR"), "utf-8")
    write(folder, expenses="expense\tunit_price\tcurrency\tgrounds\nfee\t3.00\tUSD\tx\n")
    ledger, _, _ = keep(folder, [euros], rates={"EUR": "2@2026-11-30"})
    purchase, *usages = rows(folder / "focus.csv")
    assert (purchase["BilledCost"], purchase["ListUnitPrice"]) == ("440.00", "")
    assert [row["ListUnitPrice"] for row in usages if row["ServiceName"] == "fee"] == ["3.00"]
    [fee] = [row for row in ledger if row["item"] == "fee"]
    assert (fee["unit_price"], fee["unit_price_currency"]) == ("3.00", "USD")


HOURLY = """#tariff separator=comma decimal=point
provider,gpu,gpus_per_lot,billing,price,price_per,currency,stopped_per_hour,priced_on,source
iteragpu,rtx-4090,1,hourly,1.00,lot,USD,{stopped},2026-11-24,list
"""
BY_THE_HOUR = {"offer": "rtx", "provider": "iteragpu", "gpu": "rtx-4090", "lots": 2,
               "billing": "hourly"}  # fmt: skip


@pytest.mark.parametrize(("stopped", "amount"), [("0.05", "10.00"), ("", "")])
def test_what_is_engaged_includes_stopped_time_as_the_candidate_and_the_balance_do(
    folder, stopped, amount
):
    write(folder, tariff=HOURLY.format(stopped=stopped), tasks=TASKS.replace(
        "export\twork\t1h\tmeasure\t\t\tkept",
        "night\twait\t10h\tmeasure\t\t\tstopped\nexport\twork\t1h\tnight\t\t\tkept",
    ))  # fmt: skip
    plan(folder)
    _, balance, packages = keep(folder, [folder / "tariff"], offers=[BY_THE_HOUR])
    engaged, *candidates = packages
    # 4.5 h of work and 10 h stopped, each for two lots.
    assert (engaged["kind"], engaged["amount"]) == ("engaged", amount)
    assert [one["amount"] for one in candidates] == ([amount] if amount else [])
    assert balance[0]["engaged_amount"] == (amount or "9.00")
    assert f"10 h stopped: {'1.00 USD' if amount else 'at a price'}" in engaged["text"]
    assert "no billing step and no minimum" in balance[0]["engaged_reason"]


def test_time_inside_the_window_that_does_not_need_the_rental_is_told(folder):
    write(folder, tasks=TASKS.replace(
        "export\twork\t1h\tmeasure\t\t\tkept",
        "wait\twait\t3h\tmeasure\t\t\treleased\nexport\twork\t1h\twait\t\t\tkept",
    ))  # fmt: skip
    _, windows = plan(folder)
    assert windows["rtx"]["released_h"] == "3.000000"
    _, balance, _ = keep(folder)
    assert "3 h inside the window" in balance[0]["engaged_reason"]


def test_an_invoice_of_the_same_rows_matches_the_ledger(folder, capsys):
    plan(folder)
    keep(folder)
    words = ["reconcile", str(folder / "focus.csv"), "--ledger", str(folder / "ledger.csv")]
    assert main(words) == 1  # storage and transfer are unknown on both sides: said, not hidden
    said = capsys.readouterr().out
    assert "matches: rtx rental: billed 220.00 / engaged 220.00 USD" in said
    assert "unknown on both sides: rtx storage" in said and "1 of 3 lines match" in said


def test_a_price_is_flagged_by_its_age_on_the_last_day(folder):
    plan(folder)
    _, balance, _ = keep(folder, price_age_days=73)
    assert "74 days ago" in balance[0]["engaged_reason"]
    _, balance, _ = keep(folder, price_age_days=74)
    assert "days ago" not in balance[0]["engaged_reason"]


def test_a_new_price_needs_no_new_measurement(folder):
    plan(folder)
    text = (TARIFFS / "iteragpu-2026-09-24.csv").read_text(encoding="utf-8")
    newer = folder / "newer.csv"
    newer.write_text(text.replace("110.00", "95.50").replace("2026-09-24,", "2026-12-01,"), "utf-8")
    _, balance, _ = keep(folder, [TARIFFS / "iteragpu-2026-09-24.csv", newer])
    assert balance[0]["engaged_amount"] == "191.00"


def test_an_expense_of_an_unknown_offer_is_refused(folder):
    plan(folder)
    write(folder, expenses="expense\toffer\tunit_price\tgrounds\nfee\trtxx\t1\tx\n")
    with pytest.raises(AtparError, match="did you mean 'rtx'"):
        keep(folder)


def test_a_task_of_an_unknown_offer_is_refused(folder):
    table = TASKS.replace("rental\n", "rental\toffer\n").replace("kept\n", "kept\t\n")
    write(folder, tasks=table.replace("released\n", "released\tb20\n"))
    with pytest.raises(AtparError, match="did you mean 'b200'"):
        plan(folder)
