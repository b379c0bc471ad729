"""The calendar for other programs, and the plan in the dry run."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from icalendar import Calendar

from atpar.calendar.current import offer_calendars
from atpar.calendar.draw import draw_calendar
from atpar.calendar.export import timeline_chart, write_ics
from atpar.calendar.planned import planned_starts, window_summary
from atpar.calendar.tasks import read_tasks
from atpar.config.campaign import Money
from atpar.config.offers import Offer

TARIFFS = Path(__file__).parents[3] / "resources" / "tariffs"
TASKS = """task\tkind\tduration\tafter\tstart\tzone\trental\toffer
install\twork\t2h\t\t2026-10-23T09:00\tEurope/Paris\tkept\t
measure\tpasses\t90min\tinstall\t\tEurope/Paris\tkept\t
hold\twait\t4d\tmeasure\t\tEurope/Paris\tkept\t
write\twork\t5h\thold\t\tEurope/Paris\treleased\t
"""
PASSES = [("rtx", "b1", 1), ("b200", "b1", 1), ("rtx", "b8", 1)]
OFFERS = (
    Offer(offer="rtx", provider="iteragpu", gpu="rtx-4090", lots=2),
    Offer(offer="b200", provider="iteragpu", gpu="b200"),
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "calendar.tsv").write_text(TASKS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def plan():
    """Return what the dry run needs of a plan."""
    campaign = SimpleNamespace(
        tables=SimpleNamespace(calendar="calendar.tsv", tariffs=[]),
        protocol=SimpleNamespace(zone="Europe/Paris", deadline="2026-10-28T12:00"),
        money=Money(),
    )
    named = {offer.offer: offer for offer in OFFERS}
    return SimpleNamespace(campaign=campaign, offers=OFFERS, offer=named.__getitem__)


def places(passes=PASSES):
    return [SimpleNamespace(offer=o, variant=v, repetition=r) for o, v, r in passes]


def calendars(folder):
    tasks = read_tasks(folder / "calendar.tsv")
    return offer_calendars(tasks, PASSES, [], ["rtx", "b200"], "Europe/Paris")


def test_the_dry_run_says_each_passes_place_and_time(folder, plan):
    starts = planned_starts(plan, places(), folder)
    begin, end, text = starts["rtx", "b8", 1]
    assert begin == datetime(2026, 10, 23, 10, 30, tzinfo=UTC)
    assert end - begin == timedelta(minutes=90)
    assert text == "Fri 2026-10-23 12:30 CEST to 14:00"
    assert starts["b200", "b1", 1][0] == datetime(2026, 10, 23, 9, tzinfo=UTC)


def test_the_summary_names_window_candidates_cost_and_slack(folder, plan):
    text = window_summary(plan, places(), folder, tariffs=_known())
    # 2 h + 2 x 1.5 h + 4 x 24 h; the clock change makes the last day end an hour earlier by it.
    assert "rtx: Fri 2026-10-23 09:00 CEST to Tue 2026-10-27 13:00 CET, 101 h (2 passes" in text
    assert "candidate: iteragpu rtx-4090, 7-day package: 220.00 USD, 67 h unused" in text
    assert "candidate: iteragpu b200, 7-day package: 2071.00 USD, 68.5 h unused" in text
    assert "deadline Wed 2026-10-28 12:00 CET: 18 h slack" in text
    late = window_summary(plan, places(), folder, datetime(2027, 3, 1, tzinfo=UTC), _known())
    assert "old price: iteragpu b200: priced on 2026-09-24, 158 days ago" in late


def test_the_summary_says_what_else_there_is_when_nothing_covers(folder, plan):
    (folder / "calendar.tsv").write_text(TASKS.replace("4d", "8d"), encoding="utf-8")
    text = window_summary(plan, places(), folder, tariffs=_known())
    assert "no package covers the window; nothing is extended by itself:" in text
    assert "2 periods of 7 days of iteragpu rtx-4090, priced one by one: 2 x 220.00" in text
    assert "MISSES the deadline" in text


def test_the_summary_says_when_to_order_and_what_could_be_given_back(folder, plan):
    table = TASKS.replace("kept\t\nwrite", "released\t\nwrite")
    head, _, last = table.rpartition("released")
    table = head + "kept" + last
    (folder / "calendar.tsv").write_text(table, encoding="utf-8")
    slow = [replace(one, lead_time_h=Decimal(48)) for one in _known()]
    text = window_summary(plan, places(), folder, tariffs=slow)
    assert "order by Wed 2026-10-21 09:00 CEST (lead time 48 h)" in text
    assert "isn't needed for 96 h inside the window" in text
    assert "order by" not in window_summary(plan, places(), folder, tariffs=_known())


def test_a_calendar_without_a_fixed_start_begins_at_the_next_hour(folder, plan):
    (folder / "calendar.tsv").write_text(TASKS.replace("2026-10-23T09:00", ""), encoding="utf-8")
    now = datetime(2026, 11, 30, 8, 17, tzinfo=UTC)
    starts = planned_starts(plan, places(), folder, now)
    assert starts["rtx", "b1", 1][0] == datetime(2026, 11, 30, 11, tzinfo=UTC)
    assert "No task has a fixed start" in window_summary(plan, places(), folder, now, _known())


def test_the_plan_of_further_passes_takes_what_the_measured_ones_took(folder, plan):
    (folder / "calendar.tsv").write_text(TASKS.replace("2026-10-23T09:00", ""), encoding="utf-8")
    attempt = {
        "offer": "rtx",
        "variant": "b1",
        "repetition": "1",
        "started_utc": "2026-11-30T08:00:00Z",
        "finished_utc": "2026-11-30T08:03:00Z",
        "wall_time_s": "180",
    }
    more = [*PASSES, ("rtx", "b1", 2)]
    starts = planned_starts(plan, places(more), folder, attempts=[attempt])
    begin, end, _ = starts["rtx", "b1", 2]
    assert end - begin == timedelta(minutes=3)
    assert starts["rtx", "b1", 1][0] == datetime(2026, 11, 30, 8, tzinfo=UTC)
    text = window_summary(plan, places(more), folder, tariffs=_known(), attempts=[attempt])
    assert "(3 passes, 1 measured, 1 forecast from these;" in text
    assert "the calendar is counted from the first pass measured" in text


def test_a_plan_that_is_resumed_goes_on_from_now(folder, plan):
    (folder / "calendar.tsv").write_text(TASKS.replace("2026-10-23T09:00", ""), encoding="utf-8")
    attempt = {
        "offer": "rtx",
        "variant": "b8",
        "repetition": "1",
        "started_utc": "2026-11-30T08:00:00Z",
        "finished_utc": "2026-11-30T09:00:00Z",
        "wall_time_s": "3600",
    }
    given = {"folder": folder, "attempts": [attempt]}
    # While it goes on, the next pass follows the last.
    first = datetime(2026, 11, 30, 8, tzinfo=UTC)
    starts = planned_starts(plan, places(), now=first, **given)
    assert starts["rtx", "b1", 1][0] == first + timedelta(hours=1)
    later = first + timedelta(days=1)
    starts = planned_starts(plan, places(), now=later, **given)
    assert starts["rtx", "b8", 1][0] == first
    # Also of an offer that wasn't begun.
    assert starts["rtx", "b1", 1][0] == starts["b200", "b1", 1][0] == later
    text = window_summary(plan, places(), now=later, tariffs=_known(), **given)
    # 23 h between the passes; 2 h before them, 1 h and 1.5 h of passes, 96 h after.
    assert "123.5 h (2 passes, 1 measured; 23 h idle)" in text


def _known():
    from atpar.money.calculator import read_tariffs

    return read_tariffs(TARIFFS / "iteragpu-2026-09-24.csv")


def test_events_hold_every_task_pass_window_and_the_deadline(folder):
    deadline = datetime(2026, 10, 28, 11, tzinfo=UTC)
    write_ics(folder / "a.ics", calendars(folder), "demo", deadline)
    write_ics(folder / "b.ics", calendars(folder), "demo", deadline)
    assert (folder / "a.ics").read_bytes() == (folder / "b.ics").read_bytes()
    calendar = Calendar.from_ical((folder / "a.ics").read_bytes())
    events = {str(event["summary"]): event for event in calendar.walk("VEVENT")}
    assert len(events) == len({str(event["uid"]) for event in events.values()}) == 12
    measured = events["rtx: measure b8 #1"]
    assert measured["dtstart"].dt == datetime(2026, 10, 23, 10, 30, tzinfo=UTC)
    assert measured["dtend"].dt - measured["dtstart"].dt == timedelta(minutes=90)
    assert events["rtx: rental needed, 101 h"]["transp"] == "TRANSPARENT"
    assert events["demo: deadline"]["dtstart"].dt == deadline


def test_the_timeline_shows_each_task_in_the_calendars_wall_clock(folder):
    chart = json.loads(timeline_chart(calendars(folder), "Europe/Paris").to_json())
    [data] = chart["datasets"].values()
    assert len(data) == 9
    assert {row["basis"] for row in data} == {"assumed", "rental not kept"}
    assert data[0]["start"] == "2026-10-23T09:00:00"


def test_the_calendar_target_writes_table_events_and_pictures(folder):
    record = {"offer": "rtx", "variant": "b1", "repetition": 1, "attempt_id": "rtx/b1/1/1"}
    ended = {**record, "started_utc": "2026-10-23T09:05:00Z", "wall_time_s": 1800.5}
    journal = folder / "rtx.jsonl"
    lines = [
        {"event": "started", "attempt_id": "rtx/b1/1/1", "record": record},
        {"event": "finished", "attempt_id": "rtx/b1/1/1", "record": ended},
    ]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    paths = {name: folder / f"plan.{name}" for name in ("calendar", "ics", "svg", "png")}
    draw_calendar(
        tasks=folder / "calendar.tsv",
        journals=[journal],
        campaign="demo",
        offers=["rtx", "b200"],
        passes=PASSES,
        zone="Europe/Paris",
        deadline=None,
        **paths,
    )
    assert "rtx/b1/1,0.500139,measured" in paths["calendar"].read_text(encoding="utf-8")
    assert "<svg" in paths["svg"].read_text(encoding="utf-8")[:200]
    assert paths["png"].read_bytes().startswith(b"\x89PNG")
