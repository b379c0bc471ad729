"""Calendars written as a person writes them."""

import pytest

from atpar.calendar.tasks import Task, offer_tasks
from atpar.calendar.timeline import PassTime, plan_offer
from atpar.money.calculator import to_utc


@pytest.fixture
def task():
    """Return a maker of tasks."""

    def make(name, duration=None, **cells):
        return Task(task=name, duration=duration, **cells)

    return make


@pytest.fixture
def plan(task):
    """Return a function that plans tasks (`passes` added if there are none) from a local start."""

    def make(*tasks, passes=0, start="2026-12-07T09:00", zone="UTC", times=()):
        if not any(one.kind == "passes" for one in tasks):
            tasks = (*tasks, task("measure", "0s", kind="passes"))
        given = [*times, *(PassTime("a", "b1", 1 + number) for number in range(passes))]
        return plan_offer(offer_tasks(tasks, "a"), given, zone, to_utc(start, zone))

    return make
