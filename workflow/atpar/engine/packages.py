"""The distributions that a pass computes with: their versions are part of what is compared."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

COMPUTING = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pyarrow")
EXPORTING = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")
QUANTIZING = {
    "int8-weight-only": ("torchao",),
    "int8-dynamic-torchao": ("torchao",),
    "int8-bitsandbytes": ("accelerate", "bitsandbytes"),
}
"""Optional distributions of a way to quantize; those not named here need none."""
REQUIREMENTS = {
    "onnxruntime": "requirements-onnxruntime.txt",
    "torchao": "requirements-torchao.txt",
    "accelerate": "requirements-accelerate.txt",
    "bitsandbytes": "requirements-accelerate.txt",
}
"""Optional distribution -> the file that brings it."""


def optional(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the optional distributions that a variant's passes compute with."""
    if variant["backend"] == "onnxruntime":
        return ("onnxruntime",)
    spread = ("accelerate",) if variant["device_map"] else ()
    return tuple(dict.fromkeys((*QUANTIZING.get(variant["quantization"], ()), *spread)))


def computing(variant: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the distributions that a variant's passes compute with."""
    if variant["backend"] == "onnxruntime":
        return ("onnxruntime", "tokenizers", "numpy", "pyarrow")
    return (*COMPUTING, *optional(variant))


def lacking(variant: Mapping[str, Any]) -> str | None:
    """Return why a variant can't be run with what is installed, or None."""
    for name in optional(variant):
        if find_spec(name) is None:
            option = _option(variant, name)
            return f"{option} needs {name}, which isn't installed: pip install -r {file_of(name)}"
    return None


def file_of(name: str) -> str:
    """Return the requirements file that brings an optional distribution."""
    return REQUIREMENTS[name]


def _option(variant: Mapping[str, Any], name: str) -> str:
    if name in QUANTIZING.get(variant["quantization"], ()):
        return f"quantization {variant['quantization']}"
    return f"backend {name}" if name == "onnxruntime" else f"device_map {variant['device_map']}"
