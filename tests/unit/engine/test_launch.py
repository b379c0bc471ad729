"""Waiting for a worker: its end is noticed at once, whether or not the kernel tells it."""

import os
import subprocess
import sys
import time

import pytest

from atpar.engine.launch import _has_ended


def refused(_process):
    raise OSError(38, "Function not implemented")


@pytest.mark.parametrize("told", [True, False])
def test_the_end_of_a_worker_is_noticed_at_once(monkeypatch, told):
    if not told:
        monkeypatch.setattr(os, "pidfd_open", refused)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        assert not _has_ended(worker, 0.05)
        assert worker.returncode is None
        worker.stdin.write(b"\n")
        worker.stdin.close()
        start = time.monotonic()
        assert _has_ended(worker, 60.0)
        assert time.monotonic() - start < 30
        assert worker.returncode == 0


def test_a_worker_that_had_ended_before_is_no_wait():
    worker = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert _has_ended(worker, 60.0)
    assert worker.returncode == 3
