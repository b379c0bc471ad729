"""Attempts: the view of a journal that has one entry for each try at a pass.

`started` events carry what was known before the worker ran, as `record`; `finished` events carry
the record that counts. An attempt with a start alone is still running or was interrupted; which
of the two, its `alive` lock tells: it is held by the supervisor and its worker, and the kernel
frees it when both are gone.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from atpar.errors import AtparError
from atpar.journal import journal

Record = dict[str, Any]

PATIENCE_S = 3.0
"""How long a killed process may take to leave its attempt."""
ALIVE = "alive"
"""Name of the lock file in an attempt's folder."""
LOG_LINES = 20
BOOT = Path("/proc/sys/kernel/random/boot_id")


def attempt_id(offer: str, variant: str, repetition: int, number: int) -> str:
    """Return the attempt's name: `offer/variant/repetition/number`, numbers from 1."""
    return f"{offer}/{variant}/{repetition}/{number}"


def _events(path: str | Path) -> list[dict[str, Any]]:
    """Return a journal's starts and ends; AtparError for a line that lacks a part of its own."""
    events = journal.read(path)
    for event in events:
        kind, name, record = (event.get(part) for part in ("event", "attempt_id", "record"))
        ends = kind in ("started", "finished")
        if kind is None or (ends and not (isinstance(name, str) and isinstance(record, dict))):
            raise AtparError(
                f"{path}: an event of attempt {name!r} lacks `event`, `attempt_id` or `record`; "
                "the journal is only ever appended to, so it was changed by hand or damaged: "
                "restore it from a copy"
            )
    return [event for event in events if event["event"] in ("started", "finished")]


def read_attempts(path: str | Path) -> list[Record]:
    """Return one record for each attempt in a journal, in the order they were started.

    An attempt without a finish is shown as `interrupted`, with the reason that no end was
    recorded; a running one is seen so too, until it ends.
    """
    records: dict[str, Record] = {}
    for event in _events(path):
        name = event["attempt_id"]
        if event["event"] == "started":
            records[name] = {
                **event["record"],
                "status": "interrupted",
                "reason": "no end was recorded: it is still running, or it was killed",
            }
        elif event["event"] == "finished":
            if name not in records:
                raise AtparError(f"{path}: attempt {name} is finished, but was never started")
            records[name] = event["record"]
    return list(records.values())


def unfinished(path: str | Path) -> list[Record]:
    """Return the records of the `started` events that no `finished` event followed."""
    started: dict[str, Record] = {}
    for event in _events(path):
        if event["event"] == "started":
            started[event["attempt_id"]] = event["record"]
        elif event["event"] == "finished":
            started.pop(event["attempt_id"], None)
    return list(started.values())


def next_number(path: str | Path, variant: str, repetition: int) -> int:
    """Return the number of the next attempt at a pass in an offer's journal, from 1."""
    numbers = [
        event["record"]["attempt_number"]
        for event in _events(path)
        if event["event"] == "started"
        and event["record"]["variant"] == variant
        and event["record"]["repetition"] == repetition
    ]
    return max(numbers, default=0) + 1


def reconcile(
    path: str | Path,
    folder_of: Callable[[Record], Path],
    salvage: Callable[[Record, Path], Record],
) -> list[Record]:
    """Record every unfinished attempt that nothing runs any more as `interrupted`.

    `folder_of(record)` is the attempt's folder; `salvage(record, folder)` returns the fields that
    what the worker left there still tells. Returns the records added.
    """
    added = []
    for record in unfinished(path):
        folder = Path(folder_of(record))
        folder.mkdir(parents=True, exist_ok=True)
        if is_alive(folder, PATIENCE_S):
            continue
        # Of two starts at once, one writes the end.
        with suppress(BlockingIOError), alive(folder):
            name = record["attempt_id"]
            if all(one["attempt_id"] != name for one in unfinished(path)):
                continue
            ended = {**interrupted(record, folder), **salvage(record, folder)}
            event = {"event": "finished", "attempt_id": name, "record": ended}
            journal.append(path, {**event, "reconciled": True})
            added.append(ended)
    return added


def interrupted(record: Record, folder: Path) -> Record:
    """Return the started record as `interrupted`, completed from the attempt's folder."""
    progress = read_progress(folder)
    seen = progress.get("at_utc")
    return {
        **record,
        "status": "interrupted",
        "phase": progress.get("phase", record["phase"]),
        "reason": "its processes were killed, the machine stopped, or its end couldn't be written",
        **left_behind(folder),
        "entries_completed": progress.get("entries_completed"),
        "finished_utc": seen,
        "wall_time_s": progress.get("wall_time_s"),
        "span_s": progress.get("measured_s"),
        "notes": [
            *record.get("notes", []),
            "finished_utc and wall_time_s are those of its last sign of life"
            if seen
            else "it left no sign of life: when it ended isn't known",
        ],
    }


def read_progress(folder: Path) -> Record:
    """Return the worker's last progress in an attempt's folder; empty when it left none."""
    try:
        return json.loads((folder / "progress.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def left_behind(folder: Path) -> Record:
    """Return what the files of an attempt that didn't end well still tell, as record's fields."""
    expected = read_progress(folder).get("entries_expected")
    return {"entries_expected": expected, "log_tail": log_tail(folder)}


def log_tail(folder: Path) -> list[str]:
    """Return the last lines of the worker's log; none where it left no log."""
    try:
        text = (folder / "worker.log").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[-LOG_LINES:]


def machine() -> dict[str, str | None]:
    """Return this machine's name and that of its present start, None where none is told."""
    try:
        start = BOOT.read_text().strip()
    except OSError:
        start = None
    return {"host": os.uname().nodename, "boot": start}


def stopped_since(progress: Record) -> bool:
    """Tell whether this machine was started anew since it wrote that progress."""
    here = machine()
    return progress.get("host") == here["host"] and progress.get("boot") != here["boot"]


@contextmanager
def alive(folder: Path) -> Iterator[int]:
    """Hold the attempt's lock; the descriptor is to be handed to the worker as well."""
    descriptor = os.open(folder / ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    finally:
        os.close(descriptor)


def is_alive(folder: Path, patience_s: float = 0.0) -> bool:
    """Tell whether the supervisor or the worker of an attempt on this machine still exists.

    One that is being killed is waited for up to `patience_s`: its threads end one by one.
    """
    deadline = time.monotonic() + patience_s
    while _holds(folder):
        if time.monotonic() >= deadline:
            return True
        time.sleep(0.02)
    return False


def _holds(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / ALIVE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
