"""Place tasks and passes in time; all arithmetic is on instants in UTC.

A day with a clock change has 23 or 25 hours, and only instants know it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atpar.calendar.tasks import Task
from atpar.errors import AtparError
from atpar.money.calculator import PriceError, find_zone, parse_duration, to_utc

ZERO = timedelta()


@dataclass(frozen=True)
class PassTime:
    """One pass in the calendar: what is known of the time it takes."""

    offer: str
    variant: str
    repetition: int
    duration: timedelta | None = None
    """All its attempts together, start-up and failures included; None: the assumption holds."""
    basis: str = "assumed"
    actual_start: datetime | None = None
    actual_end: datetime | None = None
    attempts: int = 0

    @property
    def name(self) -> str:
        """`offer/variant/repetition`."""
        return f"{self.offer}/{self.variant}/{self.repetition}"


@dataclass(frozen=True)
class Entry:
    """One line of the calendar: a task, or one pass of the task that stands for the passes."""

    offer: str
    task: str
    kind: str
    duration: timedelta
    basis: str
    start: datetime
    end: datetime
    zone: str
    rental: str
    passed: PassTime | None = None
    planned_start: datetime | None = None
    planned_end: datetime | None = None

    @property
    def kept(self) -> bool:
        """Is the rental kept meanwhile, running or stopped?"""
        return self.rental != "released"


@dataclass(frozen=True)
class Window:
    """The access window of one offer [P26]: first start to last end of what needs the rental."""

    start: datetime
    end: datetime
    busy: timedelta
    """Time in which at least one task runs; overlaps are counted once."""
    stopped: timedelta
    """Time in which the rental is stopped and nothing else runs."""
    released: timedelta = ZERO
    """Time in which only `released` tasks run: the rental could be given back, and is paid."""

    @property
    def length(self) -> timedelta:
        """The whole window."""
        return self.end - self.start

    @property
    def idle(self) -> timedelta:
        """Time in the window in which nothing is planned; the rental is paid meanwhile."""
        return self.length - self.busy


def plan_offer(
    tasks: Sequence[Task],
    passes: Sequence[PassTime],
    zone: str,
    origin: datetime,
    resumed: datetime | None = None,
) -> list[Entry]:
    """Return the calendar of one offer, with measured passes in place, beside the first plan.

    `tasks` come from `offer_tasks`, `passes` are in the order in which they run. `zone` holds for
    tasks that name none. Tasks that wait for nothing start with the earliest of them that has a
    fixed start, or at `origin`; passes that weren't attempted start at `resumed` at the earliest.
    AtparError: a circle of dependencies, an end before its start, a fixed start before a dependency
    ends.
    """
    assumed = [replace(one, duration=None, basis="assumed") for one in passes]
    planned = _place(tasks, assumed, zone, origin, strict=True)
    current = _place(tasks, passes, zone, origin, strict=False, resumed=resumed)
    return [
        replace(entry, planned_start=first.start, planned_end=first.end)
        for entry, first in zip(current, planned, strict=True)
    ]


def _place(tasks, passes, zone, origin, *, strict: bool, resumed=None) -> list[Entry]:
    """Place each task; `strict` refuses what a later measurement may bring about."""
    first = [_instant(one, "start", zone) for one in tasks if one.start and not one.before]
    origin = min(first, default=origin)
    entries: dict[str, list[Entry]] = {}
    for task in _in_order(tasks):
        ends = [entries[name][-1].end for name in task.before]
        start = max(ends, default=origin)
        if task.start:
            stated = _instant(task, "start", zone)
            if strict and ends and stated < start:
                ready = local_text(start, task.zone or zone)
                raise AtparError(
                    f"calendar: task {task.row_name!r} is fixed at {task.start}, but "
                    f"{_latest(task, entries)!r} ends only at {ready}"
                )
            start = max(stated, start) if ends else stated
        entries[task.task] = _lines(task, passes, start, zone, strict, resumed)
    # In the order of the table, so that a person finds the rows again.
    return [entry for task in tasks for entry in entries[task.task]]


def _lines(
    task: Task, passes, start: datetime, zone: str, strict: bool, resumed: datetime | None
) -> list[Entry]:
    where = {"task": task.task, "kind": task.kind, "zone": task.zone or zone, "rental": task.rental}
    if task.kind != "passes":
        end = _end(task, start, zone, strict=strict)
        return [Entry("", duration=end - start, basis=task.basis, start=start, end=end, **where)]
    lines = []
    assumed = parse_duration(task.duration)
    for one in passes:
        known = one.duration is not None
        duration, basis = (one.duration, one.basis) if known else (assumed, task.basis)
        if resumed and not one.attempts:
            start = max(start, resumed)
        end = start + duration
        lines.append(
            Entry(
                one.offer, duration=duration, basis=basis, start=start, end=end, passed=one, **where
            )
        )
        start = end
    return lines or [Entry("", duration=ZERO, basis=task.basis, start=start, end=start, **where)]


def _end(task: Task, start: datetime, zone: str, *, strict: bool) -> datetime:
    if task.duration is not None:
        return start + parse_duration(task.duration)
    end = _instant(task, "end", zone)
    if end < start and strict:
        raise AtparError(
            f"calendar: task {task.row_name!r} ends at {task.end}, before it starts "
            f"({local_text(start, task.zone or zone)})"
        )
    return max(start, end)


def _in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks with each one behind those it comes after."""
    waiting = {task.task: task for task in tasks}
    order: list[Task] = []
    while waiting:
        ready = [task for task in waiting.values() if not waiting.keys() & set(task.before)]
        if not ready:
            circle = ", ".join(sorted(waiting))
            raise AtparError(f"calendar: these tasks wait for each other: {circle}")
        order += ready
        for task in ready:
            del waiting[task.task]
    return order


def _instant(task: Task, field: str, zone: str) -> datetime:
    try:
        return to_utc(getattr(task, field), task.zone or zone)
    except PriceError as error:
        raise AtparError(f"calendar: {field} of task {task.row_name!r}: {error}") from None


def _latest(task: Task, entries: Mapping[str, list[Entry]]) -> str:
    return max(task.before, key=lambda name: entries[name][-1].end)


def local_text(instant: datetime, zone: str) -> str:
    """Return an instant as a person reads it: `Mon 2026-12-07 09:00 CET`."""
    return instant.astimezone(find_zone(zone)).strftime("%a %Y-%m-%d %H:%M %Z")


def deadline_instant(deadline: str | None, zone: str) -> datetime | None:
    """Return the protocol's deadline as an instant in UTC; None without one."""
    if deadline is None:
        return None
    try:
        return to_utc(deadline, zone)
    except PriceError as error:
        raise AtparError(f"protocol.deadline: {error}") from None


def window_of(entries: Iterable[Entry]) -> Window:
    """Return the window of one offer's entries.

    A `released` task between two that need the rental lies in it.
    """
    entries = list(entries)
    kept = [entry for entry in entries if entry.kept]
    start, end = min(entry.start for entry in kept), max(entry.end for entry in kept)
    working = [(entry.start, entry.end) for entry in kept if entry.rental == "kept"]
    stopped = [(entry.start, entry.end) for entry in kept if entry.rental == "stopped"]
    released = [
        (max(entry.start, start), min(entry.end, end)) for entry in entries if not entry.kept
    ]
    released = [span for span in released if span[0] < span[1]]
    busy = total(working + stopped)
    apart = total(released + working + stopped) - busy
    return Window(start, end, busy, busy - total(working), apart)


def merged(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Return spans with overlapping and touching ones made one."""
    result: list[tuple[datetime, datetime]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def total(spans: Iterable[tuple[datetime, datetime]]) -> timedelta:
    """Return how long at least one of the spans lasts."""
    return sum((end - start for start, end in merged(spans)), ZERO)
