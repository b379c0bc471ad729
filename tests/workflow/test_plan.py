"""The plan before anything runs, the calendar as files, and the forecast after the passes."""

import csv
import json
import re

import icalendar
import pytest


def rows(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_dry_run_gives_each_pass_its_place_and_the_window_its_candidates(workspace):
    output = workspace.snakemake("-n").stdout
    planned = [line for line in output.splitlines() if "Measure " in line]
    assert len(planned) == 12
    ranks = sorted(int(line.partition(": pass ")[2].split()[0]) for line in planned)
    assert ranks == list(range(1, 13))
    assert all(" of 12, planned " in line for line in planned)
    assert "one-thread: " in output and "(6 passes;" in output
    assert "candidate: this-machine one-thread, hourly: " in output
    assert "candidate: this-machine two-threads, 7-day package: 500.00 USD" in output


def test_passes_run_in_the_planned_order_over_all_offers_of_a_machine(finished):
    started = [
        event["record"]
        for path in (finished.results / "journal").glob("*.jsonl")
        for event in map(json.loads, path.read_text().splitlines())
        if event["event"] == "started"
    ]
    started.sort(key=lambda record: record["started_utc"])
    assert [record["planned_rank"] for record in started] == list(range(12))


def test_a_cluster_is_asked_for_what_the_calendar_plans_for_a_pass(workspace):
    # Snakemake prints a job's message in place of its resources, so the rule's function is asked.
    (workspace.folder / "ask.smk").write_text(
        "from types import SimpleNamespace\n"
        'include: "Snakefile"\n'
        "rule ask:\n"
        "    resources:\n"
        "        runtime=pass_minutes(SimpleNamespace(offer='one-thread', variant='b1')),\n"
        "    run:\n"
        "        pass\n"
    )
    ask = ("-n", "ask", "-s", "ask.smk")
    # Three times 15 s and ten minutes; the limit of the pass itself is 120 s.
    assert "runtime=11" in workspace.snakemake(*ask).stdout
    workspace.edit("config/demo/calendar.tsv", "passes\t15s", "passes\t1h")
    assert "runtime=12" in workspace.snakemake(*ask).stdout


def test_the_plan_of_further_passes_takes_what_the_measured_ones_took(measured):
    measured.configure(repetitions_added=1)
    measured.edit("config/demo/calendar.tsv", "passes\t15s", "passes\t9h")
    output = measured.snakemake("-n").stdout
    # They start now, some time after those that were measured.
    assert re.search(r"9 passes, 6 measured, 3 forecast from these; [\d.]+ h idle", output)
    assert "the calendar is counted from the first pass measured" in output
    assert "MISSES" not in output and "1-day package: 100.00 USD" in output


def test_a_missed_deadline_is_said_in_the_plan(workspace):
    workspace.configure(protocol={"deadline": "2020-01-01T09:00"})
    assert "MISSES the deadline Wed 2020-01-01 09:00 UTC" in workspace.snakemake("-n").stdout


def test_a_name_in_braces_within_a_text_is_no_wildcard(workspace):
    table = workspace.folder / "config/demo/offers.tsv"
    head, *offers = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    offers = [f"{line}\t10 Gbit/s {{shared}}, {{0}}" for line in offers]
    table.write_text("\n".join([f"{head}\tnetwork", *offers]) + "\n")
    assert "decide" in workspace.snakemake("-n").stdout
    workspace.snakemake(f"{workspace.results.relative_to(workspace.folder)}/protocol/seal.json")


def test_the_calendar_is_there_before_any_pass(workspace):
    workspace.snakemake("calendar")
    folder = workspace.results / "plan"
    events = icalendar.Calendar.from_ical((folder / "calendar.ics").read_bytes()).walk("VEVENT")
    assert len(events) >= 4
    assert (folder / "timeline.svg").read_text().startswith("<svg")
    assert (folder / "timeline.png").read_bytes().startswith(b"\x89PNG")
    passes = [row for row in rows(folder / "calendar.csv") if row["pass"]]
    assert len(passes) == 12
    assert {row["basis"] for row in passes} == {"assumed"}
    assert not (workspace.results / "journal").exists()


@pytest.mark.slow
def test_measured_passes_replace_what_was_assumed(measured):
    passes = [row for row in rows(measured.results / "calendar.csv") if row["pass"]]
    assert {row["basis"] for row in passes} == {"measured"}


@pytest.mark.slow
def test_the_real_load_is_forecast_and_nothing_is_measured_again(measured):
    measured.configure(production={"entries": 1_000_000})
    assert measured.to_run("forecast") == {"look_ahead": 1, "forecast": 1}
    measured.snakemake("forecast")
    found = rows(measured.results / "forecast.csv")
    assert {(row["offer"], row["variant"]) for row in found} == {
        (offer, variant)
        for offer in ("one-thread", "two-threads")
        for variant in ("b1", "b4", "b8")
    }
    for row in found:
        assert row["label"] == "forecast"
        assert float(row["work_h_low"]) <= float(row["work_h"]) <= float(row["work_h_high"])
    outlook = json.loads((measured.results / "outlook.json").read_text())
    assert outlook["load"]["entries"] == 1_000_000
    assert outlook["deciding"]["currency"] == "USD"
