"""One lock, two doors: pip and conda users get the same versions."""

import re
from importlib.metadata import version
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))


def test_every_line_of_the_lock_pins_one_version():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert all(re.fullmatch(r"[a-z0-9._-]+==[0-9][0-9a-z.]*", line) for line in lines)


def test_the_lock_holds_what_is_asked_for():
    asked, locked = pins("requirements.in"), pins("requirements.txt")
    assert asked.items() <= locked.items(), "run: make lock"


def test_conda_installs_the_same_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [one for one in environment["dependencies"] if isinstance(one, str)]
    (pip,) = [one["pip"] for one in environment["dependencies"] if isinstance(one, dict)]
    assert pip == ["-r requirements.txt", "--editable ."]
    # Whatever conda itself installed of the lock would be another version of the same thing.
    assert {one.partition("=")[0] for one in conda} & pins("requirements.txt").keys() == set()


def test_this_environment_is_the_lock():
    for name, wanted in pins("requirements.txt").items():
        assert version(name).partition("+")[0] == wanted, f"{name}: run `make install`"
