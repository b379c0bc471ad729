"""How long attempts used a rental.

Light: the calendar reads attempts with it while the Snakefile is parsed.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta


def instant(text: str | None) -> datetime | None:
    """Read an ISO instant (`2026-12-07T09:00:00Z`) as UTC; None stays None."""
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def attempt_length(attempt: Mapping[str, str | None]) -> timedelta | None:
    """Return how long one attempt used the machine, start-up included; None if it isn't known.

    The worker's own wall time, else the time between start and end. An attempt that was cut off
    without an end has neither.
    """
    if attempt.get("wall_time_s"):
        return timedelta(seconds=float(attempt["wall_time_s"]))
    start, end = instant(attempt.get("started_utc")), instant(attempt.get("finished_utc"))
    return end - start if start and end else None
