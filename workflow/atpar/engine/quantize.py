"""int8 for a classifier's linear layers: by torch on the CPU, by torchao on CPU and GPU."""

import warnings
from typing import Any

METHODS = {
    "int8-dynamic": (
        "int8-dynamic by torch.ao.quantization.quantize_dynamic: linear layers, weights in int8 "
        "per output channel, activations quantized per tensor as they come; torch announces its "
        "removal"
    ),
    "int8-weight-only": (
        "int8-weight-only by torchao's Int8WeightOnlyConfig: linear layers, weights in int8 per "
        "output channel, multiplied in the variant's precision"
    ),
    "int8-dynamic-torchao": (
        "int8-dynamic by torchao's Int8DynamicActivationInt8WeightConfig: linear layers, weights "
        "in int8 per output channel, activations quantized per token as they come"
    ),
    "int8-bitsandbytes": (
        "int8 by bitsandbytes (LLM.int8): linear layers but the head, weights in int8 per output "
        "channel, columns of large activations computed in fp16"
    ),
}
"""Way to quantize -> what a reader of the record should know of it."""


def quantized(model: Any, kind: str) -> Any:
    """Return the model with its linear layers quantized; `int8-bitsandbytes` is done in loading."""
    if kind == "int8-dynamic":
        return _by_torch(model)
    if kind in ("int8-weight-only", "int8-dynamic-torchao"):
        _by_torchao(model, kind)
    return model


def _by_torch(model: Any) -> Any:
    """Return the model with every linear layer replaced by a dynamically quantized one.

    Per channel, because per tensor cost 7 points of accuracy on the example. torch's eager
    quantization is deprecated in favour of torchao, which has no int8 kernels of its own for the
    CPU; the warning is in the record instead of on the screen.
    """
    import torch
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quantize_dynamic(model, {torch.nn.Linear: per_channel_dynamic_qconfig})


def _by_torchao(model: Any, kind: str) -> None:
    """Replace the weight of every linear layer by torchao's int8 tensor."""
    from torchao.quantization import (
        Int8DynamicActivationInt8WeightConfig,
        Int8WeightOnlyConfig,
        quantize_,
    )

    # Left to itself torchao also sets options of torch's compiler, for this whole process.
    if kind == "int8-weight-only":
        quantize_(model, Int8WeightOnlyConfig(set_inductor_config=False))
    else:
        quantize_(model, Int8DynamicActivationInt8WeightConfig(set_inductor_config=False))


def loading_options(kind: str, target: str) -> dict[str, Any]:
    """Return what transformers' loader is told besides: bitsandbytes quantizes while it loads."""
    if kind != "int8-bitsandbytes":
        return {}
    from transformers import BitsAndBytesConfig

    return {
        "quantization_config": BitsAndBytesConfig(load_in_8bit=True),
        "device_map": {"": target},
    }


def stored_bytes(tensor: Any) -> int:
    """Return the bytes of a tensor, or of those that it is stored as."""
    if hasattr(tensor, "__tensor_flatten__"):
        return sum(stored_bytes(getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0])
    return tensor.numel() * tensor.element_size()


def packed_bytes(model: Any) -> int:
    """Return the bytes of weights that torch's quantized layers keep, which are no parameters."""
    weights = (getattr(one, "weight", None) for one in model.modules())
    return sum(stored_bytes(weight()) for weight in weights if callable(weight))
