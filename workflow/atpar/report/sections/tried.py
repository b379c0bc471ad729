"""Attempts, failed ones included, and the memory that they took."""

from datetime import datetime
from typing import Any

from atpar.decision.tables import MEMORY
from atpar.report.material import Material
from atpar.report.sections.blocks import Listing, Prose, Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import (
    as_float,
    flag,
    instant,
    is_true,
    memory,
    number,
    score,
    seconds,
)

YES_NO = {"true": "good", "false": "bad"}

ATTEMPTS = (
    Column("Attempt", "attempt_id"),
    Column(
        "Status",
        "status",
        marks={
            "ok": "good",
            **dict.fromkeys(
                ("out_of_memory", "error", "signal", "timeout", "interrupted", "refused"), "bad"
            ),
        },
    ),
    Column("Counted", "counted", flag),
    Column("Ended in", "phase"),
    Column("Reason or cause", "reason", wide=True, empty=""),
    Column("Started, node's time", "started", instant),
    Column("Main time, s", "main_time_s", seconds, numeric=True, reason="main_time_reason"),
    Column("Wall time, s", "wall_time_s", seconds, numeric=True),
    Column(
        "Entries done",
        "entries_completed",
        number,
        numeric=True,
        otherwise="the worker left no count behind",
    ),
    Column(
        "Ids match",
        "ids_match",
        flag,
        marks=YES_NO,
        otherwise="there are no predictions to check",
    ),
    Column(
        "Metric",
        "metric_value",
        score,
        numeric=True,
        otherwise="quality wasn't evaluated for this attempt",
    ),
    Column("Accepted", "corpus_accepted", flag, marks=YES_NO, otherwise="no verdict was given"),
    Column("Failed checks", "failed_checks", wide=True, empty="none"),
    Column("Notes", "notes", wide=True, empty=""),
)


def attempts_section(material: Material, style: str) -> Section:
    """Return every attempt, or in a `short` report those that failed or are excluded alone."""
    rows = material.rows("attempts")
    blocks = []
    if style == "short":
        shown = [
            row for row in rows if row.get("status") != "ok" or is_true(row.get("excluded", ""))
        ]
        blocks.append(
            Prose(
                f"{len(rows)} attempts; this is the short report, so only those that failed, were "
                "interrupted or are excluded are listed. attempts.csv holds all of them."
            )
        )
        empty = "No attempt failed, was interrupted or is excluded."
    else:
        shown, empty = rows, "No pass has been attempted yet."
    empty = material.emptiness("attempts", empty)
    shown = [{**row, "reason": _cause(row), "started": _node_time(row)} for row in shown]
    blocks.append(
        table(
            "attempts",
            "One row for each attempt at a pass, failed and interrupted ones included.",
            ATTEMPTS,
            shown,
            empty=empty,
        )
    )
    return Section(
        "attempts",
        "Attempts",
        "Nothing that was tried is left out: an attempt that ran out of memory, crashed or was "
        "interrupted keeps its row and its cost.",
        blocks,
    )


def _node_time(row: Row) -> str:
    """Return when an attempt started, with its node's offset; in UTC where that isn't known."""
    started, zone = row.get("started_utc") or "", row.get("zone") or ""
    try:
        offset = datetime.strptime(zone, "%z").tzinfo
        return datetime.fromisoformat(started).astimezone(offset).isoformat()
    except ValueError:
        return started


def _cause(row: Row) -> str:
    """Return why an attempt failed, or why it is excluded."""
    parts = [row.get("reason", "")]
    if is_true(row.get("excluded", "")):
        parts.append(f"excluded: {row.get('exclusion_cause') or 'no cause was recorded'}")
    if row.get("exit_code") not in ("", "0", None):
        parts.append(f"exit status {row['exit_code']}")
    if row.get("signal") not in ("", None):
        parts.append(f"signal {row['signal']}")
    return "; ".join(part for part in parts if part)


def memory_section(material: Material) -> Section:
    """Return the memory peaks with what each counter covers [P24]."""
    attempts = material.rows("attempts")
    counters = [key for key in MEMORY if attempts and key in attempts[0]]
    columns = [
        Column("Offer", "offer"),
        Column("Variant", "variant"),
        *(Column(_title(key), key, memory, numeric=True, reason=f"{key}!") for key in counters),
    ]
    rows = [_largest(option, own, counters) for option, own in by_option(attempts).items()]
    blocks: list[Any] = [
        table(
            "memory",
            "Largest value over all attempts of an option, failed ones included. The counters "
            "overlap and reach their peaks at different moments, so they are never added.",
            columns,
            rows,
            row_headers=2,
            empty=material.emptiness("attempts", "No attempt has recorded its memory."),
        )
    ]
    if counters:
        covers = [f"{_title(key)}: {MEMORY[key]}." for key in counters]
        blocks.append(Listing(covers, "What each counter covers"))
    return Section(
        "memory",
        "Memory",
        "An option has to finish the whole corpus, long texts included, before its cost is "
        "compared. These are observations, not estimates and not a card's stated capacity.",
        blocks,
    )


def _title(key: str) -> str:
    words = key.replace("parameter_bytes", "parameters").removesuffix("_bytes")
    words = words.replace("_", " ").replace(" rss", " RSS")
    return words[0].upper() + words[1:]


def by_option(attempts: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the attempts by offer and variant, options in the order of their first attempt."""
    options: dict[tuple[str, str], list[Row]] = {}
    for row in attempts:
        options.setdefault((row.get("offer", ""), row.get("variant", "")), []).append(row)
    return options


def recorded_reasons(attempts: list[Row], column: str) -> dict[str, str]:
    """Return field -> reason from the cells `field: reason | field: reason` of the attempts.

    An attempt that went well is asked first: why a failed one has no value says less.
    """
    reasons: dict[str, str] = {}
    for row in sorted(attempts, key=lambda row: row.get("status") != "ok"):
        for part in (row.get(column) or "").split(" | "):
            name, _, reason = part.partition(": ")
            if reason:
                reasons.setdefault(name, reason)
    return reasons


def _largest(option: tuple[str, str], attempts: list[Row], counters: list[str]) -> Row:
    """Return the largest value of each counter; under `<key>!` why a counter has none."""
    found: Row = {"offer": option[0], "variant": option[1]}
    reasons = recorded_reasons(attempts, "memory_reasons")
    for key in counters:
        values = [row[key] for row in attempts if as_float(row.get(key)) is not None]
        found[key] = max(values, key=float, default="")
        found[f"{key}!"] = reasons.get(key, "no attempt of this option has read this counter")
    return found
