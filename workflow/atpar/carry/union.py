"""The union of two journals of one offer: every event once, none changed."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from atpar.canonical import canonical_json
from atpar.errors import AtparError

Event = dict[str, Any]


def new_events(here: Iterable[Event], there: Iterable[Event], where: str) -> list[Event]:
    """Return the events of `there` that `here` lacks, in their order.

    An attempt's events on one side are the first ones of the other's: a start, then its end.
    AtparError, beginning with `where`, when they tell of two different attempts under one id.
    """
    here, there = list(here), list(there)
    known, added = _by_attempt(here), _by_attempt(there)
    for name in sorted((known.keys() & added.keys()) - {""}):
        for one, other in zip(known[name], added[name], strict=False):
            if canonical_json(one) != canonical_json(other):
                raise AtparError(
                    f"{where}: attempt {name} is another one than the attempt of that name "
                    f"here (started {_started(other)} there, {_started(one)} here): two machines "
                    "measured the same pass. Give one of them an offer of its own; nothing was "
                    "taken in"
                )
    return lacking(here, there)


def lacking(here: Iterable[Event], there: Iterable[Event]) -> list[Event]:
    """Return the events of `there` that aren't in `here`, each as often as it is missing."""
    left = Counter(map(canonical_json, here))
    found = []
    for event in there:
        text = canonical_json(event)
        left[text] -= 1
        if left[text] < 0:
            found.append(event)
    return found


def finished(events: Iterable[Event]) -> set[str]:
    """Return the names of the attempts whose end is told."""
    return {event["attempt_id"] for event in events if event["event"] == "finished"}


def _by_attempt(events: Iterable[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.get("attempt_id", ""), []).append(event)
    return found


def _started(event: Event) -> str:
    return str(event.get("record", {}).get("started_utc"))
