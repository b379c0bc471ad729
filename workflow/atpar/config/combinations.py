"""Which variants can't be run on which kind of device. No import of pydantic: workers ask too."""

from collections.abc import Mapping
from typing import Any


def impossible_on(variant: Mapping[str, Any], device: str) -> str | None:
    """Return why a variant can't be run on a device, or None.

    `variant` is a row of the variants table as plain values, `device` is `cpu`, `cuda` or `rocm`.
    """
    if device == "cpu":
        if variant["precision"] == "tf32":
            return "tf32 is arithmetic of NVIDIA GPUs; on the CPU it would be fp32"
        if variant["attention"] == "flash":
            return "flash attention has no kernels for the CPU"
        if variant["device_map"]:
            return "device_map spreads a model over several GPUs"
        if variant["quantization"] == "int8-bitsandbytes":
            return "int8-bitsandbytes is for GPUs; on the CPU take int8-dynamic or int8-weight-only"
    else:
        if variant["quantization"] == "int8-dynamic":
            return (
                "int8-dynamic has no kernels for GPUs, and a pass never falls back to the CPU; "
                "take int8-dynamic-torchao"
            )
        if variant["backend"] == "onnxruntime":
            return "the exported model is computed by onnxruntime on the CPU alone"
        if variant["precision"] == "tf32" and device == "rocm":
            return "tf32 is arithmetic of NVIDIA GPUs"
    return None
