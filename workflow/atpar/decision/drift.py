"""Did the passes run in the planned order, one at a time, in one session?"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]


def order_findings(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what speaks against comparing these passes as one rotated series.

    `rows` are counted attempts. Instants are compared within an offer only: clocks of different
    nodes may differ.
    """
    sentences: list[str] = []
    sessions: dict[str, int] = {}
    for offer in dict.fromkeys(row["offer"] for row in rows):
        own = sorted(
            (row for row in rows if row["offer"] == offer), key=lambda row: row["started_utc"] or ""
        )
        sentences += out_of_order(own)
        sentences += overlapping(own)
        sessions[offer] = len({row["session_id"] for row in own})
    return {"sentences": sentences, "sessions": sessions}


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
