"""One worker at a time on a device: a lock that the kernel frees when its holder dies."""

import fcntl
import os
import re
import tempfile
import time
from pathlib import Path

WAIT_S = 10.0
"""How long a worker waits for a device: long enough for a killed one to leave it."""


class DeviceInUse(Exception):
    """Another process holds the device's lock."""


def lock_folder(configured: str | None) -> Path:
    """Return the folder of the locks, made if need be; every user of the machine shares it."""
    if configured is not None:
        folder = Path(configured)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    folder = Path(tempfile.gettempdir()) / "atpar-locks"
    try:
        folder.mkdir()
        folder.chmod(0o1777)
    except FileExistsError:
        pass
    return folder


def lock_device(folder: Path, device: str, wait_s: float = WAIT_S) -> int:
    """Take the lock of `device` (its UUID, or `cpu`) and return the descriptor that holds it.

    Raises DeviceInUse, naming the holder, when it isn't free within `wait_s`.
    """
    path = folder / (re.sub(r"[^A-Za-z0-9.-]", "_", device) + ".lock")
    descriptor = _open(path)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 100, 0).decode(errors="replace").strip()
                os.close(descriptor)
                raise DeviceInUse(
                    f"device {device} is in use by {holder or 'another process'} ({path} is "
                    f"locked); waited {wait_s:g} s"
                ) from None
            time.sleep(0.05)
        else:
            _sign(descriptor)
            return descriptor


def _open(path: Path) -> int:
    # Another user's file in a sticky folder can be opened, but not with O_CREAT.
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.fchmod(descriptor, 0o666)
        return descriptor


def _sign(descriptor: int) -> None:
    """Leave the holder's process id for messages; a lock without it holds as well."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}\n".encode(), 0)
    except OSError:
        return
