"""Did the passes run in the planned order, one at a time, and in which sessions?"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]


def order_findings(rows: Sequence[Row]) -> dict[str, Any]:
    """Return sentences on passes that ran out of turn or beside another, and sessions by offer.

    `rows` are counted attempts. Instants are compared within an offer only: clocks of different
    nodes may differ.
    """
    offers = by_offer(rows)
    return {
        "sentences": [
            sentence
            for own in offers.values()
            for sentence in (*out_of_order(own), *overlapping(own))
        ],
        "sessions": {
            offer: len({row["session_id"] for row in own}) for offer, own in offers.items()
        },
    }


def by_offer(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each offer in the order in which they were started."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["started_utc"] or ""):
        found.setdefault(row["offer"], []).append(row)
    return found


def sessions(rows: Sequence[Row]) -> dict[str, dict[str, list[str]]]:
    """Return offer -> variant -> the sessions in which its passes were measured."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        own = found.setdefault(row["offer"], {}).setdefault(row["variant"], [])
        if row["session_id"] and row["session_id"] not in own:
            own.append(row["session_id"])
    return found


def out_of_order(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each pass that ran before one that was planned earlier.

    Ranks are compared within a session: a schedule is one session's, and a pass that is measured
    again later is out of its turn by design, which the number of sessions shows.
    """
    return [
        f"{later['attempt_id']} was planned before {earlier['attempt_id']}, but ran after it"
        for earlier, later in pairwise(rows)
        if earlier["session_id"] == later["session_id"]
        and earlier["planned_rank"]
        and later["planned_rank"]
        and int(earlier["planned_rank"]) > int(later["planned_rank"])
    ]


def overlapping(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each pass that started before the one before it had ended."""
    return [
        f"{later['attempt_id']} started before {earlier['attempt_id']} had ended"
        for earlier, later in pairwise(rows)
        if earlier["finished_utc"]
        and later["started_utc"]
        and later["started_utc"] < earlier["finished_utc"]
    ]
