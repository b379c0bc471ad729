"""How quickly this machine's disk gives the corpus: a short read of its largest file."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LONGEST = 2**28
"""Bytes read at most: a quarter of a GiB, a second or two on a slow disk."""
SHORTEST = 2**20
"""A file with fewer bytes is read in less time than a disk needs to answer once."""
BLOCK = 2**20


def largest_file(paths: Iterable[str | Path]) -> str:
    """Return the largest of `paths`, which tells most of the disk; empty if none is here."""
    files = [path for path in map(Path, paths) if path.is_file()]
    return str(max(files, key=lambda path: path.stat().st_size, default=""))


def read_speed(path: str) -> tuple[dict[str, Any] | None, str | None]:
    """Return bytes read and bytes per second of a file's beginning, or why they aren't known.

    The kernel is asked to forget the file first (`posix_fadvise`), so that the disk answers and
    not memory; a file system without a cache of its own, or in memory, is as quick as it is.
    """
    if not path:
        return None, "the corpus' files aren't on this machine"
    try:
        size = min(Path(path).stat().st_size, LONGEST)
        if size < SHORTEST:
            return None, f"the corpus' largest file has {size} bytes, too few to time a disk"
        seconds = _timed_read(Path(path), size)
    except OSError as error:
        return None, f"{path}: {error.strerror}"
    return {"bytes_read": size, "bytes_per_s": round(size / seconds)}, None


def _timed_read(path: Path, size: int) -> float:
    """Return the seconds that reading the first `size` bytes takes."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # A page that isn't written yet can't be forgotten.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        start = time.perf_counter()
        for _ in range(0, size, BLOCK):
            os.read(descriptor, BLOCK)
        return time.perf_counter() - start
    finally:
        os.close(descriptor)
