"""The pinned wheels that the example is made from: fetched with pip, checked, not installed."""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from atpar.canonical import file_digest, whole_file, write_json
from atpar.errors import AtparError

LARGEST_MEMBER_BYTES = 200 * 2**20
"""No member that the example uses comes near this; a larger one isn't what was pinned."""


def fetch_wheel(requirement: str, sha256: str, target: Path) -> None:
    """Download `name==version` as a wheel with pip and put it at `target`, its digest checked.

    Dependencies are left out and nothing is installed or built. Raises AtparError if pip can't
    get it or the bytes aren't those that were pinned.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--disable-pip-version-check", "--dest", folder, requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise AtparError(
                f"pip couldn't fetch {requirement}, which the example is made from: "
                f"{(done.stderr or done.stdout).strip()[-800:]}\nCheck the network and pip's "
                f"index settings, or put the wheel at {target} yourself"
            )
        found = file_digest(wheels[0])
        if found != sha256:
            raise AtparError(
                f"{wheels[0].name}: SHA-256 is {found}, expected {sha256}; the index gave another "
                "file than the one that was pinned"
            )
        with whole_file(target) as temporary:
            temporary.write_bytes(wheels[0].read_bytes())


@contextmanager
def open_wheel(path: Path):
    """Open a wheel for reading; a damaged one is an AtparError."""
    try:
        with zipfile.ZipFile(path) as wheel:
            yield wheel
    except zipfile.BadZipFile as error:
        raise AtparError(f"{path}: {error}; delete the file, and it is fetched again") from None


def read_member(wheel: zipfile.ZipFile, name: str) -> bytes:
    """Return a member's bytes after checking its name and stated size.

    Reading stops at the stated size, and zipfile verifies the CRC. Raises AtparError.
    """
    try:
        info = wheel.getinfo(name)
    except KeyError:
        raise AtparError(f"{wheel.filename}: no member {name!r}") from None
    parts = PurePosixPath(name).parts
    if PurePosixPath(name).is_absolute() or ".." in parts or "\\" in name or info.is_dir():
        raise AtparError(f"{wheel.filename}: {name!r} isn't the name of a plain file inside it")
    # The upper half of the attributes is the Unix mode; 0o120000 marks a symbolic link.
    if (info.external_attr >> 16) & 0o170000 == 0o120000:
        raise AtparError(f"{wheel.filename}: {name!r} is a symbolic link")
    if info.file_size > LARGEST_MEMBER_BYTES:
        raise AtparError(f"{wheel.filename}: {name!r} states {info.file_size} bytes, too many")
    with wheel.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise AtparError(f"{wheel.filename}: {name!r} isn't as long as stated")
    return content


def unpack(wheel: zipfile.ZipFile, members: Mapping[str, Path]) -> None:
    """Write members (name in the wheel -> target) whole."""
    for name, target in members.items():
        with whole_file(target) as temporary:
            temporary.write_bytes(read_member(wheel, name))


def write_source(path: Path, wheel: Path, **about: object) -> None:
    """Write SOURCE.json: where material comes from, and under which licence."""
    write_json(path, {"wheel": wheel.name, "wheel_sha256": file_digest(wheel), **about})
