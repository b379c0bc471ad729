"""What the attempts say of the time that each pass takes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from statistics import median
from typing import Any

from atpar.calendar.timeline import ZERO, PassTime
from atpar.money.lengths import attempt_length, instant

PassKey = tuple[str, str, int]


def pass_times(
    planned: Sequence[PassKey], attempts: Iterable[Mapping[str, str | None]]
) -> list[PassTime]:
    """Return every planned pass in order, then attempted ones that are planned no longer.

    A pass that was attempted takes the time of all its attempts. One that wasn't takes the median
    of its option's measured passes, as a forecast, or leaves the assumption in place.
    """
    tried: dict[PassKey, list[Mapping[str, str | None]]] = {}
    for attempt in attempts:
        key = (attempt["offer"], attempt["variant"], int(attempt["repetition"]))
        tried.setdefault(key, []).append(attempt)
    keys = [*planned, *(key for key in tried if key not in set(planned))]
    times = [_pass_time(key, tried.get(key, [])) for key in keys]
    known: dict[tuple[str, str], list[timedelta]] = {}
    for one in times:
        if one.duration is not None:
            known.setdefault((one.offer, one.variant), []).append(one.duration)
    return [
        PassTime(
            one.offer,
            one.variant,
            one.repetition,
            median(known[one.offer, one.variant]),
            "forecast",
        )
        if one.attempts == 0 and (one.offer, one.variant) in known
        else one
        for one in times
    ]


def _pass_time(key: PassKey, attempts: Sequence[Mapping[str, str | None]]) -> PassTime:
    lengths = [length for attempt in attempts if (length := attempt_length(attempt)) is not None]
    starts = [start for attempt in attempts if (start := instant(attempt.get("started_utc")))]
    ends = [end for attempt in attempts if (end := instant(attempt.get("finished_utc")))]
    return PassTime(
        *key,
        duration=sum(lengths, ZERO) if lengths else None,
        basis="measured" if lengths else "assumed",
        actual_start=min(starts, default=None),
        actual_end=max(ends, default=None),
        attempts=len(attempts),
    )


def as_row(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what the calendar needs of a journal's record, as the attempts table would hold it."""
    keys = ("offer", "variant", "repetition", "started_utc", "finished_utc", "wall_time_s")
    return {key: None if record.get(key) is None else str(record[key]) for key in keys}
