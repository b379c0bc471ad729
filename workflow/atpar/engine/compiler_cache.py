"""A folder of its own for the files that torch's compiler makes in an attempt."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PREFIX = "atpar-compiler-"
UNCLAIMED_S = 60.0
"""A folder without a holder is a killed supervisor's, unless it is as new as this."""


@contextmanager
def compiler_cache(variant: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Give the environment variable of a new folder for torch's compiler, if the variant compiles.

    It is the attempt's own, so that every pass of a compiled variant compiles as the first, and
    gone at its end, however the worker ends; what a killed supervisor left is removed by the next
    one. It lies outside the campaign, whose path may hold a space: the compiler calls g++ without
    quoting it.
    """
    if variant["compile"] == "none":
        yield {}
        return
    usual = tempfile.gettempdir()
    place = "/tmp" if any(map(str.isspace, usual)) else usual
    _remove_abandoned(Path(place))
    with tempfile.TemporaryDirectory(
        prefix=PREFIX, dir=place, ignore_cleanup_errors=True
    ) as folder:
        holder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(holder, fcntl.LOCK_EX)
            yield {"TORCHINDUCTOR_CACHE_DIR": folder}
        finally:
            os.close(holder)


def _remove_abandoned(place: Path) -> None:
    """Remove folders that no living supervisor holds; another user's stay."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime < UNCLAIMED_S:
                continue
            holder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(holder)
