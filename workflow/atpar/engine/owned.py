"""Weights in memory of this process's own.

safetensors maps its file, and on the CPU the tensors of a model lie in that mapping: the system may
drop their pages and read them again within a span, a file that is written over changes a model that
was verified, and one that is cut ends the process. A copy is safe from all three, and aligned.
"""

from itertools import chain
from typing import Any


def own_weights(model: Any) -> None:
    """Copy, in place, every parameter and buffer that lies in memory which isn't torch's own."""
    for tensor in chain(model.parameters(), model.buffers()):
        # torch can't resize what it hasn't allocated.
        if not tensor.untyped_storage().resizable():
            tensor.data = tensor.data.clone()
