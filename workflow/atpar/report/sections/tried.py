"""Attempts, failed ones included, and the memory that they took."""

from atpar.report.material import Material
from atpar.report.sections.blocks import Listing, Prose, Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import flag, instant, is_true, memory, number, score, seconds

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
    Column("Started", "started_utc", instant),
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
    if material.tables.get("attempts") is None:
        empty = "attempts.csv isn't there."
    shown = [{**row, "reason": _cause(row)} for row in shown]
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
    scopes = [
        key for key in (attempts[0] if attempts else {}) if key.endswith("_bytes") and "peak" in key
    ]
    columns = [
        Column("Offer", "offer"),
        Column("Variant", "variant"),
        *(Column(scope_title(key), key, memory, numeric=True, reason=f"{key}!") for key in scopes),
    ]
    rows = [_largest(option, rows, scopes) for option, rows in _by_option(attempts).items()]
    blocks = [
        table(
            "memory",
            "Largest peak over all attempts of an option, failed ones included. The counters "
            "overlap and reach their peaks at different moments, so they are never added.",
            columns,
            rows if scopes else [],
            row_headers=2,
            empty="No attempt recorded a memory peak.",
        )
    ]
    if scopes:
        blocks.append(
            Listing(
                [f"{scope_title(key)}: {meaning}" for key in scopes if (meaning := scope(key))],
                "What each counter covers",
            )
        )
    return Section(
        "memory",
        "Memory",
        "An option has to finish the whole corpus, long texts included, before its cost is "
        "compared. These are observed peaks, not estimates and not a card's stated capacity.",
        blocks,
    )


SCOPES = {
    "allocated": ("Allocated by tensors", "memory that tensors held, as the allocator counts it"),
    "reserved": ("Reserved by the allocator", "memory that the allocator took, cache included"),
    "device": ("In use on the device", "all of it: other processes and the driver's context too"),
    "cgroup": ("Container", "memory of the container or job in which the worker ran"),
    "rss": ("Resident set", "host memory of the worker process"),
    "process": ("Process", "host memory of the worker process"),
}
"""Word in a counter's name -> its title, and what it covers; the first that fits counts."""


def scope(key: str) -> str | None:
    """Return what a memory counter covers, None where its name doesn't tell."""
    return next((covers for word, (_, covers) in SCOPES.items() if word in key), None)


def scope_title(key: str) -> str:
    """Return a memory counter's title; one that isn't known is called by its own name."""
    return next((title for word, (title, _) in SCOPES.items() if word in key), key)


def _by_option(attempts: list[Row]) -> dict[tuple[str, str], list[Row]]:
    options: dict[tuple[str, str], list[Row]] = {}
    for row in attempts:
        options.setdefault((row.get("offer", ""), row.get("variant", "")), []).append(row)
    return options


def _largest(option: tuple[str, str], rows: list[Row], scopes: list[str]) -> Row:
    """Return the largest value of each counter, and why a counter has none (under `<key>!`)."""
    found: Row = {"offer": option[0], "variant": option[1]}
    for key in scopes:
        values = [row[key] for row in rows if row.get(key)]
        found[key] = max(values, key=float) if values else ""
        reasons = [row.get(key.removesuffix("_bytes") + "_reason", "") for row in rows]
        found[f"{key}!"] = next(
            filter(None, reasons), "no attempt of this option read this counter"
        )
    return found
