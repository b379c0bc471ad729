"""What the installed torch was built for, without importing it."""

import ast
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class TorchBuild:
    """Version of torch, and of the CUDA or ROCm that it was built with (None: without)."""

    version: str | None
    cuda: str | None
    hip: str | None


@cache
def torch_build() -> TorchBuild:
    """Read torch's version file."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return TorchBuild(None, None, None)
    return parse_version_file((Path(spec.origin).parent / "version.py").read_text())


def parse_version_file(text: str) -> TorchBuild:
    """Return what `torch/version.py` assigns; `hip` decides ROCm, whatever `cuda` says."""
    values: dict[str, str | None] = {}
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if targets and isinstance(node.value, ast.Constant):
            for target in targets:
                if isinstance(target, ast.Name):
                    values[target.id] = node.value.value
    return TorchBuild(values.get("__version__"), values.get("cuda"), values.get("hip"))
