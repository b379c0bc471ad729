"""Money and time as a user meets them in a campaign that was really measured."""

import csv
import json
from decimal import Decimal
from pathlib import Path

import icalendar
import pytest

from atpar.cli import main

OFFERS = """\
offer	provider	gpu	billing	lots	term_days	further_terms_days	device	threads
week	this-machine	two-threads	package	1	7	{further}	cpu	2
"""


def rows(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def contents(folder):
    """Return the content of each file, by its path."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def dear_seconds(workspace, passes="15s"):
    """Let a second of each offer cost 1.00 USD, and assume `passes` for each pass."""
    path = workspace.folder / "resources/tariffs/illustrative.csv"
    text = path.read_text(encoding="utf-8")
    for thread, price in (("one-thread", "3.00"), ("two-threads", "5.00")):
        old = f"this-machine,{thread},1,hourly,,{price},lot,USD,60,"
        assert old in text
        text = text.replace(old, f"this-machine,{thread},1,hourly,,3600.00,lot,USD,1,")
    path.write_text(text, encoding="utf-8")
    workspace.edit("config/demo/calendar.tsv", "passes\t15s", f"passes\t{passes}")


def test_a_plan_above_the_cap_is_refused_before_anything_runs(workspace):
    dear_seconds(workspace)
    # 5 min, six passes of 15 s, 1 min and 1 min, on each of the two offers.
    workspace.configure(money={"campaign_cap": "1019.99"})
    refused = workspace.snakemake(expect=1)
    assert "engages 1020.00 USD, more than money.campaign_cap (1019.99)" in refused.stderr
    assert not workspace.results.exists()
    workspace.configure(money={"campaign_cap": "1020.00"})
    assert workspace.to_run()["measure_pass"] == 12


@pytest.mark.slow
def test_the_cap_holds_between_passes_whatever_was_planned(measured):
    # Start-up alone takes a pass more than the second that the plan assumes.
    dear_seconds(measured, passes="1s")
    measured.configure(money={"campaign_cap": "856.00"})
    record = measured.results / "passes/one-thread/b1/2.json"
    record.unlink()
    journals = contents(measured.results / "journal")
    done = measured.snakemake(str(record.relative_to(measured.folder)), expect=1)
    said = done.stdout + done.stderr
    assert "one-thread/b1/2 isn't started: with this pass the campaign would engage" in said
    assert "more than money.campaign_cap (856.00)" in said
    # Nothing was attempted, and what was measured stays.
    assert not record.exists() and contents(measured.results / "journal") == journals
    assert (measured.results / "passes/one-thread/b1/1.json").exists()


@pytest.mark.slow
def test_new_prices_need_no_pass_and_an_old_invoice_is_found_to_differ(
    measured, monkeypatch, capsys
):
    monkeypatch.chdir(measured.folder)
    invoice = measured.folder / "invoice.csv"
    invoice.write_bytes((measured.results / "focus.csv").read_bytes())
    assert main(["reconcile", "invoice.csv"]) == 0
    passes = contents(measured.results / "passes")
    measured.edit("resources/tariffs/illustrative.csv", ",5.00,", ",7.50,")
    ledger = measured.results / "ledger.csv"
    measured.snakemake(str(ledger.relative_to(measured.folder)))
    assert contents(measured.results / "passes") == passes
    capsys.readouterr()
    assert main(["reconcile", "invoice.csv"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("matches: one-thread rental: ") for line in lines)
    assert any(line.startswith("differs: two-threads rental: ") for line in lines)
    engaged = sum(Decimal(row["amount"]) for row in rows(ledger) if row["offer"] == "two-threads")
    (billed,) = (
        sum(Decimal(row["BilledCost"]) for row in rows(invoice) if row["ResourceId"] == offer)
        for offer in ("two-threads",)
    )
    assert engaged == pytest.approx(billed * Decimal("1.5"), abs=Decimal("0.01"))


@pytest.mark.slow
def test_the_checklist_is_filled_with_what_the_machine_told(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished.folder)
    files = ["--configfile", "config/config.yaml", "--configfile", "small.yaml"]
    assert main(["checklist", *files, "--offer", "two-threads"]) == 0
    text = capsys.readouterr().out
    environment = json.loads(
        Path("results/small/offers/two-threads/environment.json").read_text(encoding="utf-8")
    )
    assert f"torch {environment['software']['torch']}" in text
    assert "- [x] price: 5.00 USD an hour for 1 lot" in text
    assert "- [ ] image: which image, and can it be pinned?" in text


@pytest.mark.slow
def test_the_calendar_sets_what_passes_took_beside_what_was_planned(measured):
    measured.configure(repetitions_added=1)
    before = contents(measured.results / "passes")
    measured.snakemake("calendar")
    lines = rows(measured.results / "plan/calendar.csv")
    passes = [row for row in lines if row["pass"]]
    taken = [row for row in passes if row["basis"] == "measured"]
    coming = [row for row in passes if row["basis"] == "forecast"]
    assert (len(taken), len(coming)) == (12, 6)
    assert {row["pass"].rpartition("/")[2] for row in coming} == {"3"}
    for row in taken:
        name = measured.results / "passes" / f"{row['pass']}.json"
        record = json.loads(name.read_text(encoding="utf-8"))
        assert float(row["duration_h"]) == pytest.approx(record["wall_time_s"] / 3600, abs=1e-6)
        assert float(row["planned_duration_h"]) == pytest.approx(15 / 3600, abs=1e-6)
        assert row["actual_start_utc"] and row["actual_end_utc"]
    assert not any(row["actual_start_utc"] for row in coming)
    events = icalendar.Calendar.from_ical((measured.results / "plan/calendar.ics").read_bytes())
    titles = [str(one["summary"]) for one in events.walk("VEVENT")]
    assert sum(" #3" in title for title in titles) == 6
    assert (measured.results / "plan/timeline.png").read_bytes().startswith(b"\x89PNG")
    assert contents(measured.results / "passes") == before


@pytest.mark.slow
def test_report_and_note_say_what_would_change_the_answer(finished):
    decision = json.loads((finished.results / "decision.json").read_text(encoding="utf-8"))
    ledger = rows(finished.results / "ledger.csv")
    engaged = sum(Decimal(row["amount"]) for row in ledger if row["amount"])
    assert Decimal(decision["deciding"]["amount"]) == engaged
    note = (finished.results / "decision.md").read_text(encoding="utf-8")
    page = (finished.results / "report.html").read_text(encoding="utf-8")
    assert decision["deciding"]["sentence"] in note
    # one-thread engages less, so its price may rise by the difference before two-threads wins.
    margins = {one["what"]: one for one in decision["margins"]}
    assert (margins["price"]["offer"], margins["price"]["against"]) == ("one-thread", "two-threads")
    assert margins["price"]["sentence"] in note
    assert 'id="breakeven-figure"' in page and 'id="stretches-table"' in page
    outlook = json.loads((finished.results / "outlook.json").read_text(encoding="utf-8"))
    assert outlook["label"] == "forecast" and outlook["cheapest_by_load"]


def test_a_window_beyond_every_package_names_periods_and_cuts_and_extends_nothing(workspace):
    offers = workspace.folder / "week.tsv"
    offers.write_text(OFFERS.format(further=""))
    workspace.configure(tables={"offers": "week.tsv"})
    workspace.edit("config/demo/calendar.tsv", "install\twork\t5min", "install\twork\t8d")
    said = workspace.snakemake("-n").stdout
    assert "no package covers the window; nothing is extended by itself:" in said
    assert "2 periods of 7 days of this-machine two-threads, priced one by one: " in said
    assert "2 x 500.00 = 1000.00 USD" in said
    assert "- cut 24.06 h from the calendar, so that it fits the 7-day package: 500.00 USD" in said
