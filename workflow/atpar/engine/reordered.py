"""bf16 on the CPU: the weights of linear layers are put into oneDNN's layout once.

torch multiplies bf16 matrices through oneDNN, which would reorder the weights at every call; at 20
to 1 000 tokens a batch that is a fifth to a third of the product. The kernels are the same, so the
results are equal to the last bit.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

NOTE = "weights of {count} linear layers are kept in oneDNN's layout"


def reorder_linear(model: Any, probe: Callable[[], Any]) -> list[str]:
    """Reorder the weights of every plain bf16 linear layer in place; return a note on them.

    `probe()` computes something with the model. Where it fails afterwards, since a model reads the
    weights by itself, or gives another result, all layers are put back. Layers that share their
    weight with another module are left alone, and so are all where oneDNN multiplies no bf16.
    """
    import torch

    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return []
    layers = _plain_layers(model)
    expected = probe() if layers else None
    for layer in layers:
        _reorder(layer)
    try:
        same = not layers or torch.equal(probe(), expected)
    except RuntimeError:
        same = False
    if not same:
        for layer in layers:
            _put_back(layer)
    return [NOTE.format(count=len(layers))] if layers and same else []


def _plain_layers(model: Any) -> list[Any]:
    import torch

    holders = Counter(
        id(weight) for module in model.modules() for weight in module.parameters(recurse=False)
    )
    return [
        module
        for module in model.modules()
        if type(module) is torch.nn.Linear
        and module.weight.dtype == torch.bfloat16
        and holders[id(module.weight)] == 1
        # Hooks that move weights about put a forward of their own there.
        and "forward" not in vars(module)
    ]


def _reorder(layer: Any) -> None:
    import torch

    with torch.no_grad():
        weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight)
    # The layer keeps one copy alone; its type, shape and device are those of the plain weight.
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    layer.forward = partial(_product, layer)


def _put_back(layer: Any) -> None:
    import torch

    layer.weight = torch.nn.Parameter(layer.weight.to_dense(), requires_grad=False)
    del layer.forward


def _product(layer: Any, tokens: Any) -> Any:
    from torch import ops

    return ops.mkldnn._linear_pointwise(tokens, layer.weight, layer.bias, "none", [], "")
