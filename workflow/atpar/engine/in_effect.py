"""What is really in effect once a model is loaded: asked is one thing, used another."""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from atpar.engine.refused import Refused

BF16_SINCE, TF32_SINCE = (8, 0), (8, 0)
"""First compute capability with arithmetic of that kind; NVIDIA, CUDA programming guide, table of
arithmetic instructions."""


def check_loaded(model: Any, attention: str, dtype: Any, target: str) -> list[str]:
    """Raise Refused if a model uses another attention, type or device than was asked for.

    Returns a note on parameters that the model itself keeps in another type. `attention` is
    transformers' name of the implementation, `dtype` and `target` are torch's.
    """
    used = model.config._attn_implementation
    if used != attention:
        raise Refused(f"attention {attention} was asked for, and the model took {used}")
    tensors = [*model.parameters(), *model.buffers()]
    elsewhere = sorted({one.device.type for one in tensors} - {target.partition(":")[0]})
    if elsewhere:
        raise Refused(f"a part of the model lies on {', '.join(elsewhere)} instead of {target}")
    kinds = Counter(one.dtype for one in model.parameters() if one.is_floating_point())
    others = {kind: count for kind, count in kinds.items() if kind != dtype}
    if dtype not in kinds:
        named = ", ".join(map(_name, others)) or "no floating-point type"
        raise Refused(f"parameters of {_name(dtype)} were asked for, and they are of {named}")
    return [
        f"{count} of {kinds.total()} parameters are of {_name(kind)}, where {_name(dtype)} was "
        "asked for: the model keeps them so"
        for kind, count in others.items()
    ]


def _name(kind: Any) -> str:
    return str(kind).removeprefix("torch.")


def torch_settings() -> dict[str, Any]:
    """Return torch's arithmetic and threads as they are set in this process."""
    import torch

    return {
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        **process_settings(),
    }


def process_settings() -> dict[str, Any]:
    """Return what libraries read from this process's environment."""
    return {"tokenizers_parallelism": os.environ.get("TOKENIZERS_PARALLELISM")}


def without_arithmetic(precision: str, device: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return (why a precision can't be had on a GPU, a note that it is emulated there), or Nones.

    `device` is one of environment.json. A GPU without bf16 computes it by way of fp32, and torch
    calls that supported; one without TF32 computes fp32 in its place.
    """
    known = str(device.get("compute_capability") or "")
    capability = tuple(int(part) for part in known.split(".")) if known else None
    if device.get("kind") != "cuda" or capability is None:
        return None, None
    if precision == "tf32" and capability < TF32_SINCE:
        return f"compute capability {known} has no TF32: it would compute in fp32", None
    if precision == "bf16" and capability < BF16_SINCE:
        return None, f"bf16 is emulated: compute capability {known} has no arithmetic of its own"
    return None, None
