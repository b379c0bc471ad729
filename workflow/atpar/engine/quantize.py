"""int8 weights for a classifier's linear layers, on the CPU."""

import warnings
from typing import Any

METHOD = (
    "int8-dynamic by torch.ao.quantization.quantize_dynamic: linear layers, weights in int8 per "
    "output channel, activations quantized per tensor as they come; torch announces its removal"
)


def quantize_linear(model: Any) -> Any:
    """Return the model with every linear layer replaced by a dynamically quantized one.

    Per channel, because per tensor cost 7 points of accuracy on the example. torch's eager
    quantization is deprecated in favour of torchao, whose int8 kernels for the CPU need a
    compiled model; the warning is in the record instead of on the screen.
    """
    import torch
    from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quantize_dynamic(model, {torch.nn.Linear: per_channel_dynamic_qconfig})


def quantized_bytes(model: Any) -> int:
    """Return the bytes of the int8 weights, which are no parameters any more."""
    weights = (getattr(one, "weight", None) for one in model.modules())
    packed = [weight() for weight in weights if callable(weight)]
    return sum(one.numel() * one.element_size() for one in packed)
