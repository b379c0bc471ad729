"""Faults put into real workers from outside: the product has no hooks for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INJECTOR = '''
"""Runs the test's code in the worker, right after a module of its is imported."""

import importlib.abc
import importlib.machinery
import os
import sys

FAULTS = dict(part.split("=", 1) for part in os.environ["ATPAR_TEST_FAULTS"].split("\\x1f"))


class Injector(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in FAULTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            exec(FAULTS[name], vars(module))

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Injector())
'''

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


@pytest.fixture
def inject(tmp_path, monkeypatch):
    """Return a function that puts code into workers: `inject("atpar.engine.span", code)`."""
    folder = tmp_path / "injector"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(INJECTOR)
    before = os.environ.get("PYTHONPATH")

    def put(module: str, code: str) -> None:
        monkeypatch.setenv("ATPAR_TEST_FAULTS", f"{module}={code}")
        path = os.pathsep.join([str(folder), *([before] if before else [])])
        monkeypatch.setenv("PYTHONPATH", path)

    def clear() -> None:
        monkeypatch.delenv("ATPAR_TEST_FAULTS")
        if before is None:
            monkeypatch.delenv("PYTHONPATH")
        else:
            monkeypatch.setenv("PYTHONPATH", before)

    put.clear = clear
    return put


@pytest.fixture
def supervise(campaign):
    """Return a function that starts a supervisor of a pass in a process of its own."""
    started = []

    def start(variant: str = "b4", repetition: int = 1, **options) -> subprocess.Popen:
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
