"""The walltime that a cluster is asked for: a pass's planned duration with a margin.

Light: it is imported while the Snakefile is parsed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from math import ceil

from atpar.calendar.tasks import Task, offer_tasks
from atpar.money.calculator import parse_duration
from atpar.money.lengths import attempt_length

MARGIN = 3
"""A pass may take so many times what is planned: the plan is an assumption until it is measured,
and a pass that the cluster ends is an attempt lost."""


def planned_duration(
    tasks: Sequence[Task], offer: str, variant: str, attempts: Iterable[Mapping[str, str | None]]
) -> timedelta:
    """Return how long a pass of an option is planned to take, start-up included.

    The calendar's assumption, or the longest of the option's attempts so far where that is more: a
    short attempt may be one that failed early. `attempts` are rows as `measured.as_row` gives them.
    """
    (passes,) = (task for task in offer_tasks(tasks, offer) if task.kind == "passes")
    lengths = [
        length
        for row in attempts
        if (row["offer"], row["variant"]) == (offer, variant)
        and (length := attempt_length(row)) is not None
    ]
    return max(parse_duration(passes.duration), *lengths, timedelta())


def walltime_minutes(planned: timedelta, limit_s: float, besides_min: int) -> int:
    """Return whole minutes: the planned duration with its margin, and `besides_min`.

    Never more than the pass's own limit `limit_s` and what is besides: the supervisor ends it then.
    """
    return ceil(min(planned.total_seconds() * MARGIN, limit_s) / 60) + besides_min
