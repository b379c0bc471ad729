"""An append-only file of events, one JSON object a line.

A line counts once its newline is on disk. A writer that is killed can leave at most one torn
line, at the end; the next writer closes it and says so in a `torn` event, so that a torn line is
never mistaken for damage done later, and damage never for a torn line.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atpar.canonical import canonical_json, sync_folder
from atpar.errors import AtparError


def append(path: str | Path, event: Mapping[str, Any]) -> None:
    """Add `event` as one line and make it durable before returning.

    Writers exclude each other (flock), also across processes. Raises AtparError when the line
    can't be written whole, for example on a full disk.
    """
    extend(path, [event])


def extend(path: str | Path, events: Iterable[Mapping[str, Any]]) -> None:
    """Add `events` in one write, each as `append` does."""
    path = Path(path)
    lines = b"".join(canonical_json(event).encode("utf-8") + b"\n" for event in events)
    if not lines:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    created = not path.exists()
    with _locked(path) as descriptor:
        _write(path, descriptor, _closing(path) + lines)
        os.fsync(descriptor)
    if created:
        sync_folder(path.parent)


def read(path: str | Path) -> list[dict[str, Any]]:
    """Return the events in the order written; a missing file has none.

    A torn last line, and one that a `torn` event follows, is passed over. Any other line that
    isn't a JSON object raises AtparError with its number.
    """
    path = Path(path)
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    if not lines[-1]:
        lines.pop()
    events: list[dict[str, Any]] = []
    unreadable: int | None = None
    for number, line in enumerate(lines, start=1):
        event = _parse(line)
        if event is None:
            unreadable = unreadable or number
        elif event.get("event") == "torn":
            unreadable = None
        elif unreadable is not None:
            raise AtparError(
                f"{path}, line {unreadable}: not a JSON object; the journal is only ever appended "
                "to, so it was changed by hand or damaged: restore that line from a copy"
            )
        else:
            events.append(event)
    return events


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _closing(path: Path) -> bytes:
    """Return what must precede the next line: nothing, a newline, or a `torn` event too."""
    written = path.read_bytes()
    if not written:
        return b""
    newline = b"" if written.endswith(b"\n") else b"\n"
    last = written.rstrip(b"\n").rsplit(b"\n", 1)[-1]
    if _parse(last) is not None:
        return newline
    return newline + canonical_json({"event": "torn", "bytes": len(last)}).encode() + b"\n"


def _write(path: Path, descriptor: int, data: bytes) -> None:
    try:
        written = os.write(descriptor, data)
    except OSError as error:
        raise AtparError(f"{path}: can't add a line ({error.strerror})") from None
    if written != len(data):
        raise AtparError(
            f"{path}: only {written} of {len(data)} bytes could be written; free some disk space"
        )
