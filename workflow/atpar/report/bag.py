"""A BagIt bag in a zip file (RFC 8493): written with the same bytes for the same content, and
unpacked without trusting it.
"""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import bagit

from atpar.canonical import whole_file
from atpar.errors import AtparError

CHECKSUM = "sha256"
PAYLOAD = "data"


def write_bag(output: Path, name: str, files: Mapping[str, Path | bytes], about: dict[str, str]):
    """Write `files` (path in the bag -> source or bytes) as the bag `name`, zipped, whole.

    `about` goes to bag-info.txt; it must hold Bagging-Date, or the bag would tell the day on which
    it was packed and differ from the next one.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as scratch:
        folder = Path(scratch, name).resolve()
        for path, source in sorted(files.items()):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(source, bytes):
                target.write_bytes(source)
            else:
                shutil.copyfile(source, target)
        bagit.make_bag(str(folder), bag_info=dict(about), checksums=[CHECKSUM])
        with whole_file(output) as temporary:
            _zip(folder, temporary)


def _zip(folder: Path, output: Path) -> None:
    """Zip a folder in the order of names, without times and modes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(output, "w", allowZip64=True) as pack:
        for path in files:
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            stored = name.endswith(".parquet")  # compressed already
            info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            with path.open("rb") as source, pack.open(info, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)


def unpack_bag(archive: Path, folder: Path) -> Path:
    """Unpack the bag into `folder` and return the bag's own folder in it.

    AtparError for what isn't a zip file, or holds a member that could land elsewhere: an absolute
    or climbing path, a link, a name given twice, or more than the disk has room for.
    """
    if not archive.exists():
        raise AtparError(f"{archive}: no such file")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as pack:
            root = _check_members(archive, pack, folder)
            for info in pack.infolist():
                if not info.is_dir():
                    target = folder / info.filename
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with pack.open(info) as source, target.open("xb") as copy:
                        shutil.copyfileobj(source, copy)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise AtparError(f"{archive}: damaged, or no zip file ({error})") from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise AtparError(f"{archive}: two members want the same place ({error.filename})") from None
    return folder / root


def _check_members(archive: Path, pack: zipfile.ZipFile, folder: Path) -> str:
    """Return the one folder that all members lie in, or refuse the archive."""
    names: set[str] = set()
    roots: set[str] = set()
    for info in pack.infolist():
        path = PurePosixPath(info.filename)
        if (
            path.is_absolute()
            or ".." in path.parts
            or "\\" in info.filename
            or ":" in path.parts[0]
            or "\0" in info.orig_filename
        ):
            raise AtparError(f"{archive}: refused, it holds the unsafe path {info.filename!r}")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise AtparError(f"{archive}: refused, {info.filename!r} is a link or a device")
        if info.filename in names:
            raise AtparError(f"{archive}: refused, {info.filename!r} is in it twice")
        names.add(info.filename)
        roots.add(path.parts[0])
    if len(roots) != 1:
        raise AtparError(f"{archive}: expected one folder with a bag, found {len(roots)}")
    needed = sum(info.file_size for info in pack.infolist())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise AtparError(f"{archive}: needs {needed} bytes unpacked, but {free} are free")
    return roots.pop()


def bag_problems(folder: Path) -> list[str]:
    """Return what is wrong with an unpacked bag, file by file; an empty list when it is whole."""
    try:
        bag = bagit.Bag(str(folder))
        if CHECKSUM not in bag.algorithms:
            return [f"the bag has no {CHECKSUM} manifest"]
        # Counts are compared before names by `validate`, which then names no file.
        missing, foreign = bag.compare_manifests_with_fs()
        if missing or foreign:
            return [
                *(f"{path}: missing in the bag" for path in sorted(missing)),
                *(f"{path}: not in the bag's manifest" for path in sorted(foreign)),
            ]
        bag.validate(processes=1)
    except bagit.BagValidationError as error:
        return [str(one) for one in error.details] or [str(error)]
    except (bagit.BagError, OSError, ValueError) as error:
        return [f"not a BagIt bag: {error}"]
    return []
