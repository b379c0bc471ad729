"""How the weights are stored: what can be read here, and what variants can choose from."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atpar.errors import AtparError

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


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:2])
