"""What safetensors files say of their tensors, without reading the weights."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path

from safetensors import SafetensorError, safe_open

from atpar.errors import AtparError

BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2,
    "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}  # fmt: skip
FLOATING = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F64": "fp64"}


@dataclass(frozen=True)
class Tensor:
    """One stored tensor."""

    shape: tuple[int, ...]
    dtype: str
    """As safetensors spells it: F32, BF16, ..."""
    file: str

    @property
    def elements(self) -> int:
        """Number of values."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Stored size."""
        return self.elements * BYTES.get(self.dtype, 0)


def read_headers(files: Iterable[Path]) -> dict[str, Tensor]:
    """Return name -> tensor of all files. Raises AtparError for a damaged file or a name twice."""
    found: dict[str, Tensor] = {}
    for path in files:
        try:
            with safe_open(path, framework="numpy") as opened:
                for name in opened.keys():  # noqa: SIM118 - no mapping
                    part = opened.get_slice(name)
                    if name in found:
                        raise AtparError(f"{path}: tensor {name!r} is in {found[name].file} too")
                    found[name] = Tensor(tuple(part.get_shape()), part.get_dtype(), path.name)
        except (SafetensorError, OSError) as error:
            raise AtparError(f"{path}: no whole safetensors file ({error})") from None
    return found


def parameter_dtype(tensors: dict[str, Tensor]) -> str:
    """Return the precision of the floating-point weights, `mixed` if there are several."""
    kinds = {FLOATING.get(one.dtype, one.dtype) for one in tensors.values() if _is_weight(one)}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _is_weight(tensor: Tensor) -> bool:
    return tensor.dtype in FLOATING or tensor.dtype.startswith("F8")
