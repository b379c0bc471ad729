"""Windows: zones, clock changes, overlaps, chains, waits."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.calendar.tasks import Task, offer_tasks
from atpar.calendar.timeline import PassTime, merged, plan_offer, total, window_of
from atpar.errors import AtparError

HOUR = timedelta(hours=1)


def passes_row(**cells):
    return Task(task="measure", kind="passes", duration="0s", **cells)


@pytest.mark.parametrize(
    ("start", "end", "zone", "length_h"),
    [
        ("2026-12-07T09:00", "2026-12-11T09:00", "Europe/Paris", 96),  # [P27]
        ("2026-03-27T09:00", "2026-03-31T09:00", "Europe/Paris", 95),
        ("2026-10-23T09:00", "2026-10-27T09:00", "Europe/Paris", 97),
        ("2026-03-27T09:00", "2026-03-30T09:00", "Europe/Berlin", 71),  # K01
        ("2028-02-28T09:00", "2028-03-02T09:00", "UTC", 72),  # K12
    ],
)
def test_a_window_between_fixed_times_counts_real_hours(plan, task, start, end, zone, length_h):
    entries = plan(task("keep", start=start, end=end, zone=zone), passes_row(after="keep"))
    assert window_of(entries).length == length_h * HOUR


def test_one_calendar_may_use_several_zones(plan, task):
    entries = plan(
        task("ship", "1h", start="2026-12-07T09:00", zone="America/New_York"),
        task("meet", start="2026-12-07T16:00", end="2026-12-07T18:00", zone="Europe/Paris"),
        passes_row(after="ship"),
    )
    window = window_of(entries)
    assert window.start == datetime(2026, 12, 7, 14, tzinfo=UTC)
    assert (window.length, window.busy) == (3 * HOUR, 3 * HOUR)


def test_overlaps_are_counted_once_and_gaps_are_idle(plan, task):
    entries = plan(
        task("install", "4h"),
        task("fetch", "2h"),
        task("watch", "1h", start="2026-12-07T09:00"),
        task("late", "1h", start="2026-12-07T15:00"),
        passes_row(after="install"),
    )
    window = window_of(entries)
    assert (window.length, window.busy, window.idle) == (7 * HOUR, 5 * HOUR, 2 * HOUR)


def test_chains_wait_for_the_last_of_their_tasks(plan, task):
    entries = plan(
        task("export", "1h", after="evaluate, fetch"),
        task("evaluate", "2h", after="measure"),
        task("fetch", "30min", after="install"),
        task("install", "1h"),
        Task(task="measure", kind="passes", duration="10min", after="install"),
        passes=3,
    )
    ends = {entry.task: entry.end - entries[0].start for entry in entries}
    assert [entry.task for entry in entries if not entry.passed] == [
        "export",
        "evaluate",
        "fetch",
        "install",
    ]
    assert ends["export"] == HOUR
    assert window_of(entries).length == 4.5 * HOUR


def test_a_wait_keeps_stops_or_releases_the_rental(plan, task):
    def night(rental):
        return window_of(
            plan(
                task("install", "2h"),
                task("night", "10h", kind="wait", after="install", rental=rental),
                passes_row(after="night"),
                task("export", "1h", after="measure"),
            )
        )

    kept, stopped, released = (night(rental) for rental in ("kept", "stopped", "released"))
    assert kept.length == stopped.length == released.length == 13 * HOUR
    assert (kept.stopped, stopped.stopped, released.stopped) == (0 * HOUR, 10 * HOUR, 0 * HOUR)
    assert (kept.idle, released.idle) == (0 * HOUR, 10 * HOUR)
    assert (kept.released, stopped.released, released.released) == (0 * HOUR, 0 * HOUR, 10 * HOUR)


def test_a_rental_that_other_tasks_need_could_not_be_given_back(plan, task):
    entries = plan(
        task("install", "2h"),
        task("write", "10h", after="install", rental="released"),
        task("copy", "4h", after="install"),
        passes_row(after="write"),
        task("export", "1h", after="measure"),
    )
    assert window_of(entries).released == 6 * HOUR


def test_work_beside_a_stopped_wait_keeps_the_rental_running(plan, task):
    entries = plan(
        passes_row(),
        task("night", "10h", kind="wait", rental="stopped"),
        task("copy", "4h"),
    )
    assert window_of(entries).stopped == 6 * HOUR


def test_released_tasks_at_both_ends_lie_outside_the_window(plan, task):
    entries = plan(
        task("order", "5h", rental="released"),
        passes_row(after="order"),
        task("export", "1h", after="measure"),
        task("write", "9h", after="export", rental="released"),
    )
    assert window_of(entries).length == HOUR
    assert max(entry.end for entry in entries) - window_of(entries).end == 9 * HOUR


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([Task(task="x", start="2026-12-07T09:00", end="2026-12-07T08:00")], "before it starts"),
        ([Task(task="x", duration="1h", after="y"), Task(task="y", duration="1h", after="x")],
         "wait for each other: x, y"),
        ([Task(task="x", duration="1h", after="instal"), Task(task="install", duration="1h")],
         "did you mean 'install'"),
        ([Task(task="x", duration="5h", start="2026-12-07T09:00"),
          Task(task="y", duration="1h", after="x", start="2026-12-07T10:00")],
         "'x' ends only at Mon 2026-12-07 14:00 UTC"),
        ([Task(task="x", duration="1h", start="2026-03-29T02:30", zone="Europe/Paris")],
         "doesn't exist"),
    ],
)  # fmt: skip
def test_an_impossible_calendar_is_refused(plan, tasks, message):
    with pytest.raises(AtparError, match=message):
        plan(*tasks, passes_row())


def test_each_offer_has_one_task_for_its_passes_and_may_replace_rows(task):
    rows = [
        task("install", "1h"),
        task("install", "3h", offer="b"),
        task("only-b", "1h", offer="b"),
        passes_row(),
    ]
    assert [one.duration for one in offer_tasks(rows, "a")] == ["1h", "0s"]
    assert [one.duration for one in offer_tasks(rows, "b")] == ["3h", "1h", "0s"]
    with pytest.raises(AtparError, match="2 tasks of kind `passes`"):
        offer_tasks([*rows, Task(task="again", kind="passes", duration="1h")], "a")
    with pytest.raises(AtparError, match="0 tasks of kind `passes`"):
        offer_tasks(rows[:1], "a")


def test_measured_passes_replace_the_assumption_and_the_plan_stays_beside(plan, task):
    start = datetime(2026, 12, 7, 9, tzinfo=UTC)
    times = [
        PassTime("a", "b1", 1, 2 * HOUR, "measured", start, start + 2 * HOUR, 1),
        PassTime("a", "b1", 2),
    ]
    entries = plan(
        Task(task="measure", kind="passes", duration="1h"),
        task("export", "1h", after="measure", start="2026-12-07T11:00"),
        times=times,
    )
    first, second, export = entries
    assert (first.duration, first.basis, second.basis) == (2 * HOUR, "measured", "assumed")
    assert (first.planned_end, first.end) == (start + HOUR, start + 2 * HOUR)
    assert (export.planned_start, export.start) == (start + 2 * HOUR, start + 3 * HOUR)


moments = st.integers(0, 500).map(lambda hour: datetime(2026, 3, 20, tzinfo=UTC) + hour * HOUR)
spans = st.lists(st.tuples(moments, moments).map(sorted).map(tuple), max_size=12)


@given(spans)
def test_merged_spans_are_apart_and_cover_what_they_are_made_of(given_spans):
    union = merged(given_spans)
    assert all(one[1] < other[0] for one, other in pairwise(union))
    hours = {hour for start, end in given_spans for hour in _hours(start, end)}
    assert {hour for start, end in union for hour in _hours(start, end)} == hours
    assert total(given_spans) == len(hours) * HOUR


def _hours(start, end):
    return [start + number * HOUR for number in range((end - start) // HOUR)]


@st.composite
def chains(draw):
    """Return tasks without fixed starts, each after some of the earlier ones."""
    rows = []
    for number in range(draw(st.integers(1, 8))):
        before = draw(
            st.lists(st.sampled_from([row.task for row in rows]), unique=True)
            if rows
            else st.just([])
        )
        rows.append(
            Task(
                task=f"t{number}",
                kind=draw(st.sampled_from(["work", "wait"])),
                duration=f"{draw(st.integers(0, 50))}h",
                after=",".join(before) or None,
                rental=draw(st.sampled_from(["kept", "kept", "stopped"])),
            )
        )
    return rows


@given(chains(), st.integers(0, 5), st.integers(0, 300))
def test_a_window_never_exceeds_the_sum_of_its_tasks_and_waits(rows, count, minutes):
    measure = Task(task="measure", kind="passes", duration=f"{minutes}min", after=rows[0].task)
    passes = [PassTime("a", "b1", 1 + number) for number in range(count)]
    entries = plan_offer([*rows, measure], passes, "UTC", datetime(2026, 3, 20, tzinfo=UTC))
    window = window_of(entries)
    assert window.length <= sum((entry.duration for entry in entries), timedelta())
    assert timedelta() <= window.busy <= window.length
    assert timedelta() <= window.stopped <= window.busy
