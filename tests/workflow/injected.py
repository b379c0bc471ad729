"""Faults in a workspace's own processes: code that runs right after one module is imported."""

import importlib.util
from contextlib import contextmanager
from pathlib import Path

_path = Path(__file__).resolve().parents[1] / "faults" / "conftest.py"
_spec = importlib.util.spec_from_file_location("faults_conftest", _path)
_faults = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_faults)

SLOW_SPAN = """
import pathlib

_upload = Span._upload

def _held(self, batch):
    while pathlib.Path({hold!r}).exists():
        time.sleep(0.05)
    return _upload(self, batch)

Span._upload = _held
"""
"""A pass that waits in its measured part as long as a file is there."""

KILLED_SPAN = """
import os

def _killed(self, batch):
    os.kill(os.getpid(), 9)

Span._upload = _killed
"""
"""A worker that something kills in its measured part."""


@contextmanager
def injected(workspace, module: str, code: str):
    """Run `code` in every process of the workspace's Python that imports `module`."""
    # Found first by every Python of the workspace, whose PYTHONPATH is this folder.
    place = workspace.folder / "workflow" / "sitecustomize.py"
    fault = f"import os\nos.environ['ATPAR_TEST_FAULTS'] = {f'{module}={code}'!r}\n"
    place.write_text(fault + _faults.INJECTOR)
    try:
        yield
    finally:
        place.unlink()
