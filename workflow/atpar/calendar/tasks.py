"""The calendar's tasks, one row each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, model_validator

from atpar.config.base import Model, Name
from atpar.config.load import read_table
from atpar.errors import AtparError, did_you_mean
from atpar.money.calculator import PriceError, find_zone, parse_duration, to_utc


def _duration(text: str) -> str:
    try:
        parse_duration(text)
    except PriceError as error:
        raise ValueError(str(error)) from None
    return text


def _local_time(text: str) -> str:
    try:
        to_utc(text, "UTC")
    except PriceError as error:
        raise ValueError(str(error)) from None
    return text


def _zone(text: str) -> str:
    try:
        find_zone(text)
    except PriceError as error:
        raise ValueError(str(error)) from None
    return text


def _names(text: str) -> str:
    for name in text.split(","):
        if not name.strip():
            raise ValueError(f"{text!r} names an empty task; write names parted by commas")
    return text


class Task(Model):
    """One row of the calendar table.

    A task starts at its fixed `start`, or when the last task of `after` ends, or with the
    calendar. It lasts for `duration`, or to its fixed `end`.
    """

    task: Name
    """Its name."""
    kind: Literal["work", "wait", "passes"] = "work"
    """`passes` stands for the measured passes, one after another; its duration is that of one."""
    duration: Annotated[str, AfterValidator(_duration)] | None = None
    """How long it lasts: `90min`, `1.5h`, `1d 12h`."""
    basis: Literal["assumed", "measured", "forecast"] = "assumed"
    """Where the duration comes from. Passes become `measured` by themselves."""
    after: Annotated[str, AfterValidator(_names)] | None = None
    """Tasks that must have ended, parted by commas."""
    start: Annotated[str, AfterValidator(_local_time)] | None = None
    """Fixed local start: `2026-12-07T09:00`."""
    end: Annotated[str, AfterValidator(_local_time)] | None = None
    """Fixed local end, in place of a duration."""
    zone: Annotated[str, AfterValidator(_zone)] | None = None
    """Time zone of `start` and `end`; null: the protocol's."""
    offer: Name | None = None
    """The offer it belongs to; null: every offer. A row with an offer replaces the one without."""
    rental: Literal["kept", "stopped", "released"] = "kept"
    """The rental meanwhile. `released` tasks don't need it: first and last ones lie outside the
    window; in between the rental is paid all the same. `stopped` ones are in the window."""
    notes: str | None = None
    """What the task is about."""

    @property
    def row_name(self) -> str:
        """What must differ from row to row: the task, and its offer if it has one."""
        return self.task if self.offer is None else f"{self.task} ({self.offer})"

    @property
    def before(self) -> tuple[str, ...]:
        """Names of the tasks that must have ended."""
        return tuple(name.strip() for name in self.after.split(",")) if self.after else ()

    @model_validator(mode="after")
    def _one_length(self) -> "Task":
        if (self.duration is None) == (self.end is None):
            raise ValueError(f"task {self.task!r} needs a duration or a fixed end, and not both")
        if self.kind == "passes" and (self.duration is None or self.rental != "kept"):
            raise ValueError(
                f"task {self.task!r}: passes need the duration of one pass, on a kept rental"
            )
        return self


def read_tasks(path: Path) -> list[Task]:
    """Read the calendar table; AtparError names the line of a fault."""
    return read_table(path, Task, "row_name")


def offer_tasks(tasks: Sequence[Task], offer: str) -> list[Task]:
    """Return the tasks of one offer; a row with the offer replaces the row for every offer.

    AtparError: a dependency that is no task, or not exactly one task of kind `passes`.
    """
    own = {task.task for task in tasks if task.offer == offer}
    chosen = [
        task
        for task in tasks
        if task.offer == offer or (task.offer is None and task.task not in own)
    ]
    names = [task.task for task in chosen]
    for task in chosen:
        for name in task.before:
            if name not in names:
                raise AtparError(
                    f"calendar: task {task.row_name!r} comes after {name!r}, which is no task of "
                    f"offer {offer!r}; " + did_you_mean(name, names)
                )
    passes = [task.task for task in chosen if task.kind == "passes"]
    if len(passes) != 1:
        raise AtparError(
            f"calendar: offer {offer!r} has {len(passes)} tasks of kind `passes` "
            f"({', '.join(passes) or 'none'}); exactly one stands for the measured passes"
        )
    return chosen


def check_offers(tasks: Sequence[Task], offers: Sequence[str]) -> None:
    """Refuse a task of an offer that isn't in the offers table."""
    for task in tasks:
        if task.offer is not None and task.offer not in offers:
            raise AtparError(
                f"calendar: task {task.task!r} names the offer {task.offer!r}, which isn't in the "
                "offers table; " + did_you_mean(task.offer, offers)
            )
