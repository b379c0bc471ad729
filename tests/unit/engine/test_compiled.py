"""Around torch.compile: whose memory its results lie in, and where the compiler keeps its files."""

import fcntl
import os
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from atpar.engine.classifier import Classifier
from atpar.engine.compiler_cache import PREFIX, compiler_cache
from atpar.engine.launch import Ended, Interrupted, Launch


@pytest.mark.parametrize("overwrites", [True, False])
def test_results_that_the_next_run_overwrites_are_copied(overwrites):
    import torch

    output = torch.zeros(2, 3)

    def replay(**_):
        return SimpleNamespace(logits=output.add_(1))

    classifier = object.__new__(Classifier)
    vars(classifier).update(
        _packing=None,
        _takes_types=False,
        _mode=nullcontext,
        _forward=replay,
        _overwrites=overwrites,
    )
    first, second = (classifier(None, None, None) for _ in range(2))
    assert second.unique().tolist() == [2.0]
    assert first.unique().tolist() == [1.0 if overwrites else 2.0]


@pytest.fixture
def spaced(campaign, tmp_path):
    """A campaign in a folder whose name has a space."""
    folder = tmp_path / "my campaigns"
    kept = shutil.ignore_patterns(folder.name)
    shutil.copytree(tmp_path, folder, ignore=kept)
    copy = type(campaign)(folder, campaign.entries, campaign.positions)
    copy.fingerprint()
    return copy


@pytest.mark.parametrize("temporary", ["tmp", "my tmp"])
@pytest.mark.parametrize(
    "end", [Ended(0, False), Ended(-9, False), Interrupted("stopped")], ids=str
)
def test_the_compiler_keeps_its_files_where_no_space_breaks_it(
    spaced, tmp_path, monkeypatch, temporary, end
):
    seen = []

    def run(launch, pass_on):  # noqa: ARG001
        folder = Path(launch.job.environment["TORCHINDUCTOR_CACHE_DIR"])
        assert folder.is_dir() and not list(folder.iterdir())
        (folder / "kernel.so").write_bytes(b"")
        seen.append(folder)
        if isinstance(end, Interrupted):
            raise end
        return end

    (tmp_path / temporary).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / temporary))
    monkeypatch.setattr(Launch, "run", run)
    for _ in range(2):
        with pytest.raises(SystemExit) if isinstance(end, Interrupted) else nullcontext():
            spaced.measure("compiled", compile="default", shapes="dynamic")
    assert len(set(seen)) == 2, "each attempt has its own"
    assert not any(" " in str(folder) or folder.exists() for folder in seen)


def test_a_killed_supervisor_leaves_no_files_of_the_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned, starting, held = (tmp_path / f"{PREFIX}{name}" for name in ("dead", "new", "held"))
    compiled = {"compile": "default"}
    for folder in (abandoned, starting, held):
        folder.mkdir()
        (folder / "kernel.so").write_bytes(b"")
    for folder in (abandoned, held):
        os.utime(folder, (0, 0))
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    (tmp_path / "mine").mkdir()
    holder = os.open(held, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with compiler_cache(compiled) as first:
        own = Path(first["TORCHINDUCTOR_CACHE_DIR"])
        os.utime(own, (0, 0))
        with compiler_cache(compiled):
            assert own.is_dir(), "its supervisor lives"
    os.close(holder)
    assert not abandoned.exists() and not own.exists()
    assert list(starting.iterdir()) and list(held.iterdir()) and (tmp_path / "mine").is_dir()


def test_a_pass_that_compiles_nothing_has_no_such_folder(spaced, monkeypatch):
    environments = []

    def run(launch, pass_on):  # noqa: ARG001
        environments.append(launch.job.environment)
        return Ended(1, False)

    monkeypatch.setattr(Launch, "run", run)
    spaced.measure()
    assert "TORCHINDUCTOR_CACHE_DIR" not in environments[0]
