"""Shared storage on a real S3 server process: a wiped node loses no finished pass."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest


def _beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


carrying, plugins = _beside("carrying"), _beside("plugins")

SERVER = "s3rver@3.7.1"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """An S3 server on this machine; gives the environment that reaches it."""
    folder = tmp_path_factory.mktemp("s3rver")
    if not shutil.which("npm"):
        pytest.skip("npm isn't installed, so no S3 server can be had")
    plugins.install(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, SERVER], SERVER
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "data").mkdir()
    command = [folder / "node_modules" / ".bin" / "s3rver", "--directory", folder / "data",
               "--address", "127.0.0.1", "--port", str(port)]  # fmt: skip
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/")
            yield {
                "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "S3RVER",
                "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "S3RVER",
            }
        finally:
            process.terminate()


def _wait_for(url):
    deadline = time.monotonic() + 20
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            assert time.monotonic() < deadline, f"nothing answers at {url}"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python with the S3 plugin."""
    return plugins.python_with("requirements-s3.txt", tmp_path_factory.mktemp("venv") / "s3")


@pytest.fixture(scope="module")
def snakemake(server, python):
    """Run snakemake in a workspace with the shared storage in reach."""

    def run(workspace, *arguments, expect=0, start=False):
        command = [python, "-m", "snakemake", *arguments, "--configfile", "small.yaml"]
        environment = {**workspace.environment(), **server}
        if start:
            return subprocess.Popen(
                command, cwd=workspace.folder, env=environment, start_new_session=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        done = subprocess.run(
            command, cwd=workspace.folder, env=environment, capture_output=True, text=True,
            timeout=400, check=False,
        )  # fmt: skip
        assert done.returncode == expect, done.stdout[-3000:] + done.stderr[-5000:]
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def ready(fresh, tmp_path_factory):
    """A checkout of the campaign, sealed, whose passes go to the shared storage."""
    workspace = fresh.copy(tmp_path_factory.mktemp("ready") / "work")
    carrying.three_offers(workspace, "b1", "b4")
    workspace.snakemake("seal", "results/small/model/labels.json")
    workspace.configure(shared="s3://campaigns/atpar")
    return workspace


def events(workspace, offer):
    """Return the events of an offer's journal."""
    path = workspace.results / "journal" / f"{offer}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_node_that_vanishes_loses_only_the_pass_that_was_running(snakemake, ready, tmp_path):
    lost = ready.copy(tmp_path / "lost")
    lost.configure(here="a")
    process = snakemake(lost, "upload", start=True)
    deadline = time.monotonic() + 240
    # The second pass has begun: the first was finished and, before that, stored.
    while len(events(lost, "a")) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.rmtree(lost.folder)

    again = ready.copy(tmp_path / "again")
    again.configure(here="a")
    # A machine that would measure the stored pass a second time is stopped.
    refused = snakemake(again, "upload", expect=1)
    assert "1 passes of this node's offers are in s3://campaigns/atpar already" in refused
    assert "snakemake fetch" in refused and events(again, "a") == []
    snakemake(again, "fetch")
    snakemake(again, "merge")
    [kept] = (again.results / "passes" / "a").rglob("*.json")
    before = kept.read_bytes()
    snakemake(again, "upload")
    assert kept.read_bytes() == before
    names = [event["attempt_id"] for event in events(again, "a") if event["event"] == "finished"]
    assert sorted(names) == ["a/b1/1/1", "a/b4/1/1"]

    laptop = carrying.laptop(ready, tmp_path / "laptop")
    snakemake(laptop, "fetch")
    snakemake(laptop)
    decision = json.loads((laptop.results / "decision.json").read_text())
    assert decision["campaign"] == "small"
    assert len(carrying.rows(laptop.results / "attempts.csv")) == 2
