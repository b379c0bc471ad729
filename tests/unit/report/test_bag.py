"""Bags are the same every time, and nothing in one can land elsewhere."""

import stat
import zipfile
from pathlib import Path

import pytest

from atpar.errors import AtparError
from atpar.report.bag import bag_problems, unpack_bag, write_bag

ABOUT = {"Bagging-Date": "2026-11-30", "External-Identifier": "demo"}
FILES = {"a.csv": b"x\n1\n", "deep/er/b.json": b"{}", "é ü.txt": b"names of any kind"}


def test_bag_is_whole_and_gives_its_files_back(tmp_path: Path) -> None:
    write_bag(tmp_path / "out/bag.zip", "demo", FILES, ABOUT)
    folder = unpack_bag(tmp_path / "out/bag.zip", tmp_path)

    assert bag_problems(folder) == []
    assert {name: (folder / "data" / name).read_bytes() for name in FILES} == FILES
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["bag.zip"]


def test_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    source = tmp_path / "b.json"
    source.write_bytes(b"{}")
    for name, files in (("one", FILES), ("two", {**FILES, "deep/er/b.json": source})):
        write_bag(tmp_path / f"{name}.zip", "demo", dict(reversed(files.items())), ABOUT)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def change_member(archive: Path, name: str, content: bytes | None) -> None:
    """Replace a member of an archive, or take it out."""
    with zipfile.ZipFile(archive) as pack:
        members = {one: pack.read(one) for one in pack.namelist()}
    found = [one for one in members if one.endswith(name)]
    for one in found or [name]:
        members.pop(one, None)
        if content is not None:
            members[one] = content
    with zipfile.ZipFile(archive, "w") as pack:
        for one, value in members.items():
            pack.writestr(one, value)


@pytest.mark.parametrize(
    ("member", "content", "said"),
    [
        ("data/a.csv", b"x\n2\n", "data/a.csv"),
        ("data/deep/er/b.json", None, "data/deep/er/b.json"),
        ("demo/data/new.txt", b"", "data/new.txt"),
        ("bag-info.txt", b"Bagging-Date: 1999-01-01\n", "bag-info.txt"),
        ("bagit.txt", None, "not a BagIt bag"),
        ("manifest-sha256.txt", None, "no sha256 manifest"),
    ],
)
def test_every_change_is_found(
    tmp_path: Path, member: str, content: bytes | None, said: str
) -> None:
    write_bag(tmp_path / "bag.zip", "demo", FILES, ABOUT)
    change_member(tmp_path / "bag.zip", member, content)
    problems = bag_problems(unpack_bag(tmp_path / "bag.zip", tmp_path / "out"))
    assert said in " ".join(problems)


@pytest.mark.parametrize(
    "name",
    ["../evil", "bag/../../evil", "/evil", "bag\\..\\evil", "C:/evil", "bag/data/../../../evil"],
)
def test_path_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "bag.zip", "w") as pack:
        pack.writestr("bag/bagit.txt", "")
        pack.writestr(name, "evil")
    inside = tmp_path / "in/side"
    inside.mkdir(parents=True)
    with pytest.raises(AtparError, match="unsafe path"):
        unpack_bag(tmp_path / "bag.zip", inside)
    assert list(inside.iterdir()) == []
    assert not list(tmp_path.rglob("evil"))


def test_link_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("bag/link")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "bag.zip", "w") as pack:
        pack.writestr(info, "/etc/passwd")
    with pytest.raises(AtparError, match="link"):
        unpack_bag(tmp_path / "bag.zip", tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_name_given_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bag.zip", "w") as pack:
        pack.writestr("bag/a", "1")
        pack.writestr("bag/a", "2")
    with pytest.raises(AtparError, match="twice"):
        unpack_bag(tmp_path / "bag.zip", tmp_path / "out")


def test_file_and_folder_of_one_name_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bag.zip", "w") as pack:
        pack.writestr("bag/a", "1")
        pack.writestr("bag/a/b", "2")
    with pytest.raises(AtparError, match="same place"):
        unpack_bag(tmp_path / "bag.zip", tmp_path / "out")


def test_more_than_the_disk_holds_is_refused_before_unpacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bag(tmp_path / "bag.zip", "demo", {"zeros": bytes(1 << 20)}, ABOUT)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1 << 19}))
    with pytest.raises(AtparError, match="are free"):
        unpack_bag(tmp_path / "bag.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_what_is_no_zip_file_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "bag.zip").write_bytes(b"not a zip")
    with pytest.raises(AtparError, match="no zip file"):
        unpack_bag(tmp_path / "bag.zip", tmp_path)
    with pytest.raises(AtparError, match="no such file"):
        unpack_bag(tmp_path / "absent.zip", tmp_path)


def test_flipped_bit_in_the_archive_is_found(tmp_path: Path) -> None:
    write_bag(tmp_path / "bag.zip", "demo", {"a.parquet": bytes(range(256)) * 8}, ABOUT)
    damaged = bytearray((tmp_path / "bag.zip").read_bytes())
    place = damaged.index(bytes(range(100, 140)))
    damaged[place] ^= 1
    (tmp_path / "bag.zip").write_bytes(damaged)
    with pytest.raises(AtparError, match="damaged"):
        unpack_bag(tmp_path / "bag.zip", tmp_path / "out")
