"""Supervisors in processes of their own, to be killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import importlib.util, json, pathlib, sys
spec = importlib.util.spec_from_file_location("campaigns", sys.argv[1])
campaigns = importlib.util.module_from_spec(spec)
sys.modules["campaigns"] = campaigns
spec.loader.exec_module(campaigns)
campaign = campaigns.EngineCampaign(pathlib.Path(sys.argv[2]))
campaign.protocol.update(json.loads(sys.argv[5]))
campaign.measure(sys.argv[3], int(sys.argv[4]))
"""
CAMPAIGNS = Path(__file__).resolve().parents[1] / "conftest.py"


def heed_signals() -> None:
    """Heed in a child what the tests' own process may ignore (`nohup`, a job of a script)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def heeding():
    """Return the function for `Popen(preexec_fn=...)`."""
    return heed_signals


@pytest.fixture
def supervise(campaign):
    """Return a function that starts a supervisor of a pass in a process of its own."""
    started = []

    def start(variant: str = "b4", repetition: int = 1, **options) -> subprocess.Popen:
        options = {"preexec_fn": heed_signals, **options}
        command = [
            *(sys.executable, "-c", RUN, str(CAMPAIGNS), str(campaign.folder)),
            *(variant, str(repetition), options.pop("protocol", "{}")),
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()
