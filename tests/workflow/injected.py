"""Faults in a workspace's own processes: code that runs right after one module is imported."""

import importlib.util
from contextlib import contextmanager
from pathlib import Path

_path = Path(__file__).resolve().parents[1] / "conftest.py"
_spec = importlib.util.spec_from_file_location("shared_conftest", _path)
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)

HELD_PASS = """
import pathlib

_enter = Progress.enter

def _held(self, phase):
    _enter(self, phase)
    while phase == "measured" and pathlib.Path({hold!r}).exists():
        time.sleep(0.05)

Progress.enter = _held
"""
"""A pass that waits at the beginning of its measured part as long as a file is there."""

KILLED_PASS = """
_enter = Progress.enter

def _killed(self, phase):
    _enter(self, phase)
    if phase == "measured":
        os.kill(os.getpid(), 9)

Progress.enter = _killed
"""
"""A worker that something kills in its measured part."""


@contextmanager
def injected(workspace, module: str, code: str):
    """Run `code` in every process of the workspace's Python that imports `module`."""
    # Found first by every Python of the workspace, whose PYTHONPATH is this folder.
    place = workspace.folder / "workflow" / "sitecustomize.py"
    fault = f"import os\nos.environ['ATPAR_TEST_FAULTS'] = {f'{module}={code}'!r}\n"
    place.write_text(fault + _shared.INJECTOR)
    try:
        yield
    finally:
        place.unlink()
