"""Make a plan's changes all or not at all, also when killed in between.

Everything is first laid ready in one folder; renaming that folder is the moment from which the
shares count as taken in. What then remains is copying, which is done again from the start by
whoever comes next if it was cut off: copying twice changes nothing.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atpar.canonical import file_digest, read_json, sync_folder, whole_file, write_json
from atpar.carry.layout import place_of
from atpar.carry.plan import Plan
from atpar.carry.union import lacking
from atpar.errors import AtparError
from atpar.journal import journal

READY = "merging"
"""Folder of changes that are decided and not yet all made."""

_ORDER = ("attempt", "environment", "identity", "predictions", "record")
"""Records come last, after the journal: a pass is seen once all that belongs to it is there."""


@contextmanager
def alone(results: Path) -> Iterator[None]:
    """Exclude other merges into the same campaign; leftovers of killed ones are dealt with."""
    results.mkdir(parents=True, exist_ok=True)
    with (results / ".merging.lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AtparError(f"{results}: shares are being taken in by another process") from None
        for leftover in results.glob(f".{READY}-*"):
            shutil.rmtree(leftover)
        complete(results)
        yield


@contextmanager
def workshop(results: Path) -> Iterator[Path]:
    """Give a folder to unpack and prepare in, on the same file system; it is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f".{READY}-", dir=results))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def commit(plan: Plan, receipts: Mapping[str, Any], folder: Path) -> None:
    """Decide for the plan and make its changes; `receipts` (path -> content) are written last.

    `folder` is the workshop in which the plan's files lie.
    """
    ready = folder / READY
    ready.mkdir()
    moves = []
    ordered = sorted(plan.files, key=lambda path: (_ORDER.index(place_of(path).kind), path))
    for number, target in enumerate(ordered):
        source, digest = plan.files[target]
        source.replace(ready / str(number))
        moves.append({"from": str(number), "to": target, "sha256": digest})
    events = {offer: added for offer, added in plan.events.items() if added}
    write_json(ready / "plan.json", {"moves": moves, "events": events, "receipts": dict(receipts)})
    sync_folder(ready)
    ready.rename(plan.results / READY)
    sync_folder(plan.results)
    complete(plan.results)


def complete(results: Path) -> None:
    """Make, or make again, all changes that were decided for."""
    ready = results / READY
    if not ready.exists():
        return
    plan = read_json(ready / "plan.json")
    records = [move for move in plan["moves"] if place_of(move["to"]).kind == "record"]
    for move in plan["moves"]:
        if move not in records:
            _put(ready / move["from"], results / move["to"], move["sha256"])
    for offer, events in plan["events"].items():
        path = results / "journal" / f"{offer}.jsonl"
        journal.extend(path, lacking(journal.read(path), events))
    for move in records:
        _put(ready / move["from"], results / move["to"], move["sha256"])
    for path, content in plan["receipts"].items():
        write_json(results / path, content)
    # Renamed before it is deleted: half a folder of decided changes would mean nothing.
    with workshop(results) as folder:
        ready.rename(folder / READY)


def _put(source: Path, target: Path, digest: str) -> None:
    """Put a file in place whole; one that is there with the same content keeps its time."""
    if target.exists() and file_digest(target) == digest:
        return
    with whole_file(target) as temporary:
        shutil.copyfile(source, temporary)


def pending(results: Path) -> dict[str, Any] | None:
    """Return the decided plan that isn't completed, None if there is none."""
    try:
        return read_json(results / READY / "plan.json")
    except FileNotFoundError:
        return None
