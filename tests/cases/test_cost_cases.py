"""Cases of cost and calendar, from the tables that a person writes to the tables they read."""

import csv
import json
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from atpar.calendar.plan import plan_calendar
from atpar.calendar.planned import describe_candidates
from atpar.calendar.timeline import Window
from atpar.cli import main
from atpar.config.offers import Offer
from atpar.money.calculator import billed_time, read_tariffs
from atpar.money.keep import keep_ledger

TARIFF = """#tariff separator=comma decimal=point
provider,gpu,gpus_per_lot,billing,term_days,price,price_per,currency,{more},priced_on,source
acme,card,1,{billing},{term},{price},lot,USD,{cells},2026-09-24,price list
"""


def rows(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


class Case:
    """One offer of one card: its calendar and its tariff as files, and the stages over them."""

    def __init__(self, folder):
        self.folder = folder

    def tariff(self, price="1.00", term=None, **cells):
        """Write the tariff file with further cells and return its path."""
        cells = cells or {"notes": ""}
        path = self.folder / "tariff.csv"
        path.write_text(
            TARIFF.format(
                billing="hourly" if term is None else "package",
                term=term or "",
                price=price,
                more=",".join(cells),
                cells=",".join(map(str, cells.values())),
            )
        )
        return path

    def calendar(self, *tasks, zone="UTC", passes=1, attempts=None):
        """Write the tasks (name, kind, duration, after, start, end, rental) and plan them."""
        header = "task\tkind\tduration\tafter\tstart\tend\trental"
        table = self.folder / "calendar.tsv"
        table.write_text("\n".join([header, *("\t".join(task) for task in tasks)]) + "\n")
        plan_calendar(
            tasks=table,
            attempts=attempts,
            calendar=self.folder / "calendar.csv",
            windows=self.folder / "window.csv",
            offers=["x"],
            passes=[["x", "b1", number] for number in range(1, passes + 1)],
            zone=zone,
            deadline=None,
        )
        (window,) = rows(self.folder / "window.csv")
        return rows(self.folder / "calendar.csv"), window

    def ledger(self, tariff, **offer):
        """Keep the ledger of the offer: (item -> row, the balance's row)."""
        cells = {"offer": "x", "provider": "acme", "gpu": "card", "lots": 1, **offer}
        put = {
            "summary": "offer,variant\nx,b1\n",
            "deliverables": "offer,variant,deliverable,accepted,entries\nx,b1,corpus,true,1000\n",
            "attempts": "offer,variant,status,counted,finished_utc\n",
            "expenses": "expense\toffer\tunit_price\tgrounds\n",
        }
        for name, text in put.items():
            (self.folder / name).write_text(text)
        outputs = {name: self.folder / f"{name}.csv" for name in ("ledger", "balance", "packages")}
        keep_ledger(
            **{name: self.folder / name for name in put},
            windows=self.folder / "window.csv",
            tariffs=[tariff],
            **outputs,
            focus=self.folder / "focus.csv",
            campaign="case",
            offers=[cells],
            expected=1,
            currency="USD",
            rates={},
            price_age_days=36500,
        )
        (balance,) = rows(outputs["balance"])
        return {row["item"]: row for row in rows(outputs["ledger"])}, balance


@pytest.fixture
def case(tmp_path):
    """Return the files and stages of one offer."""
    return Case(tmp_path)


@pytest.fixture
def said(capsys):
    """Return a function that runs an atpar command and returns its JSON."""

    def run(*words):
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


# K01: three local days across a clock change aren't 72 hours.

BERLIN = [
    ("2026-03-27T09:00", "2026-03-30T09:00", "71"),  # one night is an hour short
    ("2026-10-23T09:00", "2026-10-26T09:00", "73"),  # one is an hour long
    ("2026-04-03T09:00", "2026-04-06T09:00", "72"),
]


@pytest.mark.parametrize(("start", "end", "hours"), BERLIN)
def test_k01_a_window_counts_real_hours_and_keeps_both_clocks(case, start, end, hours):
    lines, window = case.calendar(
        ("rent", "work", "", "", start, end, "kept"),
        ("measure", "passes", "1min", "", start, "", "kept"),
        zone="Europe/Berlin",
    )
    assert Decimal(window["window_h"]) == Decimal(hours)
    rent = lines[0]
    assert Decimal(rent["duration_h"]) == Decimal(hours)
    assert rent["zone"] == window["zone"] == "Europe/Berlin"
    assert rent["start_utc"].endswith("Z") and "09:00 CE" in rent["start_local"]
    assert "09:00 CE" in rent["end_local"]


@pytest.mark.parametrize(("start", "end", "hours"), BERLIN)
def test_k01_the_calculator_counts_the_same_hours(case, said, start, end, hours):
    found = said("price", "--gpu", "card", "--tariff", case.tariff(), "--from", start, "--to", end,
                 "--zone", "Europe/Berlin")  # fmt: skip
    assert Decimal(found["window_h"]) == Decimal(hours)
    (hourly,) = found["candidates"]
    assert Decimal(hourly["amount"]) == Decimal(hours)


def test_k01_a_package_of_three_days_covers_71_hours_and_not_73(case, said):
    tariff = case.tariff(term="3")
    for (start, end, _), covered in zip(BERLIN, (True, False, True), strict=True):
        found = said("price", "--gpu", "card", "--tariff", tariff, "--from", start, "--to", end,
                     "--zone", "Europe/Berlin")  # fmt: skip
        assert bool(found["candidates"]) is covered


# K03: rounding up to a billing unit is exact, and a minimum comes first.


@pytest.mark.parametrize(
    ("used", "step_s", "minimum_s", "billed_h"),
    [
        ("20min", 3600, "", "1"),
        ("1h", 3600, "", "1"),
        ("3601s", 3600, "", "2"),
        ("20min", 60, 3600, "1"),
        ("61min", 60, 3600, "1.0166666667"),
        ("20min", 1, "", "0.3333333333"),
    ],
)
def test_k03_running_time_is_rounded_up_to_whole_units(case, used, step_s, minimum_s, billed_h):
    case.calendar(("measure", "passes", used, "", "2026-12-07T09:00", "", "kept"))
    tariff = case.tariff("3600.00", step_s=step_s, minimum_s=minimum_s)
    lines, balance = case.ledger(tariff, billing="hourly", storage_gb="0", egress_gb="0")
    assert Decimal(balance["engaged_amount"]) == round(Decimal(3600) * Decimal(billed_h), 2)
    # What rounding added is a line of its own, and the lines add up to what is paid.
    paid = sum(Decimal(row["amount"]) for row in lines.values())
    assert paid == Decimal(balance["engaged_amount"])


def test_k03_an_hour_summed_from_floats_is_one_hour():
    pieces = [0.36] * 10_000
    assert sum(pieces) > 3600
    for seconds in (sum(pieces), 3600.0000001):
        running = timedelta(seconds=seconds)
        assert billed_time(running, timedelta(hours=1)) == timedelta(hours=1)


def test_k03_the_hourly_command_rounds_the_same(said):
    found = said("cost-hourly", "--price", "1", "--hours", "20min", "--step", "1h", "--storage",
                 "0", "--transfer", "0", "--retries", "0")  # fmt: skip
    assert (found["amount"], found["not_included"]) == ("1.00", [])


# K04: the clock of the rental starts before the job does.


def test_k04_boot_installation_and_waits_are_billed_with_the_passes(case):
    lines, window = case.calendar(
        ("boot", "wait", "12min", "", "2026-12-07T09:00", "", "kept"),
        ("measure", "passes", "50min", "boot", "", "", "kept"),
    )
    assert [row["task"] for row in lines] == ["boot", "measure"]
    assert Decimal(window["window_h"]) == round(Decimal(62) / 60, 6)
    ledger, balance = case.ledger(
        case.tariff("5.00", step_s=3600), billing="hourly", storage_gb="0", egress_gb="0"
    )
    assert balance["engaged_amount"] == "10.00"
    grounds = ledger["rental: preparation, other tasks and waits"]["grounds"]
    assert "2 h billed" in grounds and "billing starts: unknown, ends: unknown" in grounds


def test_k04_a_gap_between_attempts_is_paid_idle_time(case, tmp_path):
    attempts = tmp_path / "tried.csv"
    attempts.write_text(
        "offer,variant,repetition,started_utc,finished_utc,wall_time_s\n"
        "x,b1,1,2026-12-07T09:12:00Z,2026-12-07T09:32:00Z,1200\n"
    )
    _, window = case.calendar(
        ("boot", "wait", "12min", "", "2026-12-07T09:00", "", "kept"),
        ("measure", "passes", "20min", "boot", "", "", "kept"),
        ("fetch", "work", "10min", "measure", "2026-12-07T10:02", "", "kept"),
        attempts=attempts,
    )
    assert Decimal(window["window_h"]) == Decimal("1.2")
    assert Decimal(window["idle_h"]) == Decimal("0.5")


def test_k04_when_billing_starts_is_shown_as_the_tariff_states_it(case):
    case.calendar(("measure", "passes", "50min", "", "2026-12-07T09:00", "", "kept"))
    ledger, _ = case.ledger(
        case.tariff(billed_from="boot", billed_until="release"), billing="hourly"
    )
    grounds = ledger["rental: preparation, other tasks and waits"]["grounds"]
    assert "billing starts: boot, ends: release" in grounds


# K08: a stopped machine still costs its disk.

STOPPED = (
    ("measure", "passes", "1h", "", "2026-12-07T09:00", "", "kept"),
    ("weekend", "wait", "2d", "measure", "", "", "stopped"),
    ("fetch", "work", "1h", "weekend", "", "", "kept"),
)


def test_k08_two_days_stopped_are_a_line_with_their_price(case):
    _, window = case.calendar(*STOPPED)
    assert (Decimal(window["window_h"]), Decimal(window["stopped_h"])) == (50, 48)
    # 1.20 a day is 0.05 an hour.
    tariff = case.tariff("5.00", step_s=3600, stopped_per_hour="0.05")
    ledger, balance = case.ledger(tariff, billing="hourly", storage_gb="0", egress_gb="0")
    assert ledger["rental: stopped"]["amount"] == "2.40"
    assert balance["engaged_amount"] == "12.40"


def test_k08_an_unknown_price_while_stopped_is_a_gap_and_said(case):
    case.calendar(*STOPPED)
    ledger, balance = case.ledger(
        case.tariff("5.00", step_s=3600), billing="hourly", storage_gb="0", egress_gb="0"
    )
    assert ledger["rental: stopped"]["amount"] == ""
    assert "doesn't say what stopped time costs" in ledger["rental: stopped"]["amount_reason"]
    assert "without what isn't known: rental: stopped" in balance["engaged_reason"]


def test_k08_a_package_is_paid_whole_while_stopped(case):
    case.calendar(*STOPPED)
    ledger, balance = case.ledger(
        case.tariff("70.00", term="3"), billing="package", storage_gb="0", egress_gb="0"
    )
    assert "rental: stopped" not in ledger and balance["engaged_amount"] == "70.00"


@pytest.mark.parametrize(
    ("price", "amount", "unknown"), [(["--stopped-price", "0.05"], "7.40", []), ([], "5.00",
                                                                                 ["stopped"])]
)  # fmt: skip
def test_k08_the_hourly_command_knows_stopped_time(said, price, amount, unknown):
    found = said("cost-hourly", "--price", "5", "--hours", "1", "--stopped", "2d", "--storage", "0",
                 "--transfer", "0", "--retries", "0", *price)  # fmt: skip
    assert (found["amount"], found["not_included"]) == (amount, unknown)
    if unknown:
        (line,) = [one for one in found["lines"] if one["item"] == "stopped"]
        assert line["amount"] is None and "not stated" in line["grounds"]


# K09: what leaves the provider is paid by the byte, or said to be left out.

HOUR = ("measure", "passes", "1h", "", "2026-12-07T09:00", "", "kept")


@pytest.mark.parametrize(
    ("cells", "amount"),
    [
        ({"egress_per_gb": "0.09"}, "4.50"),
        ({"egress_per_gb": "0.09", "egress_included_gb": "20"}, "2.70"),
        ({"egress_included_gb": "50"}, "0.00"),
        ({"egress_included_gb": "20"}, ""),
        ({}, ""),
    ],
)
def test_k09_fifty_gigabytes_of_deliverables_are_priced_or_left_out_by_name(case, cells, amount):
    case.calendar(HOUR)
    ledger, balance = case.ledger(
        case.tariff("5.00", step_s=3600, **cells), billing="hourly", storage_gb="0", egress_gb="50"
    )
    row = ledger["transfer out"]
    assert row["amount"] == amount
    if amount:
        assert Decimal(balance["engaged_amount"]) == Decimal("5.00") + Decimal(amount)
        assert balance["engaged_reason"] == ""
    else:
        assert row["amount_reason"].startswith("not included in the amounts: 50 GB needed")
        assert "transfer out" in balance["engaged_reason"]


def test_k09_unstated_bytes_are_a_gap_too(case):
    case.calendar(HOUR)
    ledger, balance = case.ledger(case.tariff(egress_per_gb="0.09"), billing="hourly")
    assert "egress_gb isn't stated" in ledger["transfer out"]["amount_reason"]
    assert "transfer out" in balance["engaged_reason"]


# K11: a reservation isn't wholly usable.

BLOCK = {"setup_h": "1", "end_margin_h": "0.5", "lead_time_h": "30"}


@pytest.mark.parametrize(("need", "covered"), [("70h", True), ("70.5h", True), ("71h", False)])
def test_k11_what_is_lost_at_both_ends_of_a_block_covers_nothing(case, said, need, covered):
    tariff = case.tariff("100.00", term="3", **BLOCK)
    found = said("price", "--gpu", "card", "--tariff", tariff, "--window", need)
    assert bool(found["candidates"]) is covered and bool(found["alternatives"]) is not covered
    case.calendar(("measure", "passes", need, "", "2026-12-07T09:00", "", "kept"))
    _, balance = case.ledger(tariff, term_days=3, storage_gb="0", egress_gb="0")
    # It is paid whole either way, and nothing is given back for what isn't used.
    assert balance["engaged_amount"] == "100.00"
    assert balance["covers_window"] == ("true" if covered else "false")
    assert Decimal(balance["package_h"]) == 72
    if not covered:
        assert "exceeds the 70.5 h usable" in balance["engaged_reason"]
    lines = describe_candidates(
        Offer(offer="x", provider="acme", gpu="card", term_days=3),
        _window(need),
        read_tariffs(tariff),
    )
    assert any(line.startswith("candidate") for line in lines) is covered


def _window(need):
    start = datetime.fromisoformat("2026-12-07T09:00+00:00")
    length = timedelta(hours=float(need[:-1]))
    return Window(start, start + length, length, timedelta())


# K12: days are added to instants, never to the number of a day.


@pytest.mark.parametrize(
    ("start", "duration", "end"),
    [
        ("2028-02-28T09:00", "3d", "2028-03-02T09:00:00Z"),  # a leap year
        ("2027-02-28T09:00", "3d", "2027-03-03T09:00:00Z"),
        ("2026-12-30T09:00", "3d", "2027-01-02T09:00:00Z"),
        ("2027-01-31T09:00", "28d", "2027-02-28T09:00:00Z"),
    ],
)
def test_k12_three_days_later_is_right_at_every_end_of_a_month(case, start, duration, end):
    lines, window = case.calendar(
        ("measure", "passes", duration, "", start, "", "kept"),
    )
    assert lines[0]["end_utc"] == window["end_utc"] == end


@pytest.mark.parametrize(
    ("start", "first", "following"),
    [
        ("2028-02-29T09:00", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
        ("2026-12-31T09:00", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("2027-01-31T09:00", "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"),
    ],
)
def test_k12_a_billing_month_ends_with_its_month(case, start, first, following):
    case.calendar(("measure", "passes", "1h", "", start, "", "kept"))
    case.ledger(case.tariff(), billing="hourly", storage_gb="0", egress_gb="0")
    for row in rows(case.folder / "focus.csv"):
        assert (row["BillingPeriodStart"], row["BillingPeriodEnd"]) == (first, following)


def test_k12_the_age_of_a_price_counts_the_leap_day(case):
    (tariff,) = read_tariffs(case.tariff())
    assert tariff.age_days(date(2028, 3, 1)) - tariff.age_days(date(2028, 2, 28)) == 2
