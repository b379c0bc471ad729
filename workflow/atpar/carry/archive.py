"""The archive of a share: a zip file with a manifest of SHA-256, the same bytes for the same share.

A zip opens everywhere and has an entry of its own for each file. Times, users and modes aren't
kept: they say where a file lay, not what it is.
"""

import hashlib
import json
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from atpar.canonical import whole_file
from atpar.carry.layout import NEEDED, place_of
from atpar.errors import AtparError

DEFINITION = 1
MANIFEST = "manifest.json"
CHUNK = 1 << 20
_MANIFEST_LIMIT = 1 << 28


@dataclass(frozen=True)
class Share:
    """A share whose every file was checked and lies unpacked in `folder`."""

    archive: Path
    folder: Path
    campaign: str
    offers: tuple[str, ...]
    digests: Mapping[str, str]
    """Path -> SHA-256 of each file."""

    def json(self, path: str) -> Any:
        """Return the content of one of its JSON files; AtparError if it isn't JSON."""
        try:
            return json.loads((self.folder / path).read_text(encoding="utf-8"))
        except ValueError:
            raise AtparError(f"{self.archive}: {path} in it isn't JSON") from None


def write_archive(
    output: Path,
    campaign: str,
    offers: Sequence[str],
    files: Mapping[str, Path | bytes],
    twins: Mapping[str, str],
) -> None:
    """Write the archive whole.

    `files` maps each path to its source or its bytes; `twins` a path to one in `files` that holds
    the same bytes, so that they are packed once.
    """
    entries = []
    with (
        whole_file(output) as temporary,
        zipfile.ZipFile(temporary, "w", allowZip64=True) as pack,
    ):
        for path in sorted(files):
            entries.append({"path": path, **_add(pack, path, files[path])})
        digests = {entry["path"]: entry for entry in entries}
        entries += [
            {**digests[twin], "path": path, "same_as": twin} for path, twin in sorted(twins.items())
        ]
        manifest = {
            "definition": DEFINITION,
            "campaign": campaign,
            "offers": sorted(offers),
            "files": sorted(entries, key=lambda entry: entry["path"]),
        }
        text = json.dumps(manifest, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
        _add(pack, MANIFEST, text.encode("utf-8"))


def _add(pack: zipfile.ZipFile, path: str, source: Path | bytes) -> dict[str, Any]:
    info = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    # Parquet is compressed already.
    stored = path.endswith(".parquet")
    info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    total, sha = 0, hashlib.sha256()
    with (
        BytesIO(source) if isinstance(source, bytes) else source.open("rb") as read,
        pack.open(info, "w", force_zip64=True) as write,
    ):
        for chunk in iter(lambda: read.read(CHUNK), b""):
            write.write(chunk)
            sha.update(chunk)
            total += len(chunk)
    return {"bytes": total, "sha256": sha.hexdigest()}


def read_manifest(archive: Path) -> dict[str, Any]:
    """Return an archive's manifest, its form checked. AtparError says what is wrong with it."""
    with _opened(archive) as pack:
        return _manifest(archive, pack)


def unpack(archive: Path, folder: Path) -> Share:
    """Check everything that an archive holds and unpack it into `folder`, which must not exist.

    AtparError names the archive and its fault: damaged, incomplete, a member that no share has, a
    link, a checksum that differs.
    """
    with _opened(archive) as pack:
        manifest = _manifest(archive, pack)
        wanted = {entry["path"]: entry for entry in manifest["files"]}
        packed = {path for path, entry in wanted.items() if "same_as" not in entry}
        _check_members(archive, pack, packed | {MANIFEST})
        folder.mkdir(parents=True)
        _check_sizes(archive, pack, wanted, folder)
        for path in sorted(packed):
            _extract(archive, pack, wanted[path], folder / path)
    for path in sorted(wanted.keys() - packed):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / wanted[path]["same_as"], folder / path)
        _sync(folder / path)
    return Share(
        archive=archive,
        folder=folder,
        campaign=manifest["campaign"],
        offers=tuple(manifest["offers"]),
        digests={path: entry["sha256"] for path, entry in wanted.items()},
    )


class _opened:
    """An archive open for reading; what zipfile finds wrong with it becomes an AtparError."""

    def __init__(self, archive: Path) -> None:
        self.archive = archive

    def __enter__(self) -> zipfile.ZipFile:
        try:
            self.pack = zipfile.ZipFile(self.archive)
        except (zipfile.BadZipFile, EOFError, ValueError):
            raise AtparError(_damaged(self.archive, "it isn't a whole zip file")) from None
        except OSError as error:
            raise AtparError(f"{self.archive}: can't be read ({error.strerror})") from None
        return self.pack

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        self.pack.close()
        faults = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
        if isinstance(error, faults):
            raise AtparError(_damaged(self.archive, str(error))) from None


def _damaged(archive: Path, why: str) -> str:
    return f"{archive}: damaged ({why}); copy it again from the node, or export it anew"


def _manifest(archive: Path, pack: zipfile.ZipFile) -> dict[str, Any]:
    try:
        info = pack.getinfo(MANIFEST)
    except KeyError:
        raise AtparError(f"{archive}: no {MANIFEST} in it; it isn't a share of atpar") from None
    if info.file_size > _MANIFEST_LIMIT:
        raise AtparError(f"{archive}: its {MANIFEST} is too large to be one")
    try:
        manifest = json.loads(pack.read(info))
        files = manifest["files"]
        well_formed = (
            isinstance(manifest["campaign"], str)
            and all(isinstance(offer, str) for offer in manifest["offers"])
            and all(
                isinstance(entry["path"], str)
                and isinstance(entry["bytes"], int)
                and isinstance(entry["sha256"], str)
                for entry in files
            )
        )
    except (ValueError, KeyError, TypeError):
        well_formed = False
    if not well_formed:
        raise AtparError(f"{archive}: its {MANIFEST} doesn't list campaign, offers and files")
    if manifest.get("definition") != DEFINITION:
        raise AtparError(
            f"{archive}: written under definition {manifest.get('definition')!r} of a share, this "
            f"version reads {DEFINITION}; use the same version of atpar on all nodes"
        )
    _check_paths(archive, manifest["offers"], files)
    return manifest


def _check_paths(archive: Path, offers: Sequence[str], files: Sequence[Mapping]) -> None:
    paths = [entry["path"] for entry in files]
    if len(set(paths)) != len(paths):
        raise AtparError(f"{archive}: its {MANIFEST} names a file twice")
    for path in paths:
        place = place_of(path)
        if place is None:
            raise AtparError(f"{archive}: {path!r} in it is no file of a share; nothing was taken")
        if place.offer and place.offer not in offers:
            raise AtparError(f"{archive}: {path!r} belongs to no offer of this share")
    originals = {entry["path"]: entry for entry in files if "same_as" not in entry}
    for entry in files:
        twin = originals.get(entry.get("same_as", entry["path"]))
        if twin is None or twin["sha256"] != entry["sha256"]:
            raise AtparError(f"{archive}: {entry['path']!r} refers to a file that isn't its twin")
    lacking = [path for path in NEEDED if path not in paths]
    if lacking:
        raise AtparError(f"{archive}: lacks {', '.join(lacking)}, so nothing can be compared")


def _check_members(archive: Path, pack: zipfile.ZipFile, wanted: set[str]) -> None:
    names = pack.namelist()
    if len(set(names)) != len(names):
        raise AtparError(f"{archive}: a member is in it twice; nothing was taken")
    for info in pack.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in (0, stat.S_IFREG):
            raise AtparError(f"{archive}: {info.filename!r} is no plain file; nothing was taken")
        if info.filename not in wanted:
            raise AtparError(
                f"{archive}: {info.filename!r} isn't named in its {MANIFEST}; nothing was taken"
            )
    lacking = sorted(wanted - set(names))
    if lacking:
        raise AtparError(_damaged(archive, f"{lacking[0]} is missing"))


def _check_sizes(
    archive: Path, pack: zipfile.ZipFile, wanted: Mapping[str, Mapping[str, Any]], folder: Path
) -> None:
    """Refuse what unpacks to more than it says, or to more than the disk has room for."""
    for info in pack.infolist():
        if info.filename != MANIFEST and info.file_size != wanted[info.filename]["bytes"]:
            raise AtparError(_damaged(archive, f"{info.filename} isn't as long as {MANIFEST} says"))
    needed = sum(entry["bytes"] for entry in wanted.values())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise AtparError(
            f"{archive}: unpacks to {needed} bytes, but {free} are free; nothing was taken"
        )


def _extract(archive: Path, pack: zipfile.ZipFile, entry: Mapping[str, Any], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    total, sha = 0, hashlib.sha256()
    with pack.open(entry["path"]) as read, target.open("wb") as write:
        for chunk in _chunks(read):
            total += len(chunk)
            if total > entry["bytes"]:
                break
            sha.update(chunk)
            write.write(chunk)
        write.flush()
        os.fsync(write.fileno())
    if total != entry["bytes"] or sha.hexdigest() != entry["sha256"]:
        raise AtparError(
            _damaged(archive, f"{entry['path']} differs from its checksum in {MANIFEST}")
        )


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    yield from iter(lambda: stream.read(CHUNK), b"")


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
