"""How the weights are stored: what can be read here, and what variants can choose from."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atpar.errors import AtparError

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}
"""torch's name of a type -> the name in the fingerprint and in variants."""
PICKLES_NEED = (2, 6)
"""First torch with which transformers loads pickled weights (CVE-2025-32434)."""


def check_stored(files: Sequence[Path], configuration: Any, folder: Path) -> None:
    """Refuse weights that the installed torch can't read, and quantized ones. Raises AtparError.

    A quantized checkpoint fixes the precision that variants are there to choose.
    """
    pickled = [path for path in files if path.suffix == ".bin"]
    torch = version("torch")
    if pickled and _release(torch) < PICKLES_NEED:
        raise AtparError(
            f"{pickled[0]}: the weights are only there as a pickle file, which transformers "
            f"{version('transformers')} reads with torch {'.'.join(map(str, PICKLES_NEED))} or "
            f"newer alone, and torch {torch} is installed; update torch, or convert the weights "
            "(`save_pretrained` writes safetensors)"
        )
    quantized = getattr(configuration, "quantization_config", None)
    if quantized:
        stated = quantized if isinstance(quantized, dict) else vars(quantized)
        method = stated.get("quant_method") or "an unnamed method"
        raise AtparError(
            f"{folder}/config.json: the weights are quantized already ({method}), so no variant's "
            "precision would be the one that it states; take the model's unquantized weights"
        )


def check_declared(configuration: Any, stored: str, folder: Path) -> None:
    """Refuse weights of another type than config.json declares. Raises AtparError.

    `stored` is the fingerprint's `dtype`. Rounded weights under a configuration that says fp32, or
    the other way round, are no longer those that somebody evaluated.
    """
    declared = PRECISIONS.get(str(getattr(configuration, "dtype", None)).removeprefix("torch."))
    if declared and stored in PRECISIONS.values() and declared != stored:
        raise AtparError(
            f"{folder}/config.json: declares weights of {declared}, but they are stored as "
            f"{stored}; load the model in the type that was evaluated and save it again, or put "
            "`dtype` in config.json right"
        )


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:2])
