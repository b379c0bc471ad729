"""What a cluster is asked for follows the calendar, then what passes took."""

from datetime import timedelta

import pytest

from atpar.calendar.tasks import Task
from atpar.calendar.walltime import MARGIN, planned_duration, walltime_minutes

TASKS = [
    Task(task="measure", kind="passes", duration="4min"),
    Task(task="measure", kind="passes", duration="90s", offer="b200"),
]


def attempt(variant="b1", wall="30", offer="x"):
    return {
        "offer": offer,
        "variant": variant,
        "repetition": "1",
        "started_utc": None,
        "finished_utc": None,
        "wall_time_s": wall,
    }


def test_the_calendars_duration_is_that_of_the_offer():
    assert planned_duration(TASKS, "x", "b1", []) == timedelta(minutes=4)
    assert planned_duration(TASKS, "b200", "b1", []) == timedelta(seconds=90)


def test_a_longer_attempt_of_the_option_counts_and_a_shorter_one_does_not():
    attempts = [
        attempt(wall="30"),
        attempt(wall="500"),
        attempt(wall=None),
        attempt(variant="b8", wall="9000"),
        attempt(offer="b200", wall="9000"),
    ]
    assert planned_duration(TASKS, "x", "b1", attempts) == timedelta(seconds=500)
    assert planned_duration(TASKS, "x", "b4", attempts) == timedelta(minutes=4)


@pytest.mark.parametrize(
    ("planned", "limit", "minutes"),
    [
        (timedelta(minutes=4), 3600, 4 * MARGIN + 10),
        (timedelta(seconds=61), 3600, 4 + 10),  # 183 s, rounded up to whole minutes
        (timedelta(minutes=20), 3600, 60 + 10),
        (timedelta(hours=2), 3600, 60 + 10),  # the pass's own limit ends it first
        (timedelta(hours=2), 3601, 61 + 10),
    ],
)
def test_a_margin_within_the_passs_own_limit(planned, limit, minutes):
    assert walltime_minutes(planned, limit, 10) == minutes
