"""The model of a pass, loaded through its own class of transformers."""

import inspect
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atpar.engine.lean import import_class


class Refused(Exception):
    """This combination of model, variant and machine can't be run; nothing was computed."""


def architecture(folder: Path) -> str:
    """Return the name of the model's class, from its config.json."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = config.get("architectures") or []
    if len(names) != 1 or not names[0].endswith("ForSequenceClassification"):
        raise Refused(
            f"{folder / 'config.json'}: architectures is {names}; a pass runs one class that ends "
            "in ForSequenceClassification"
        )
    return names[0]


def model_class(name: str) -> Any:
    """Import the class alone, without the auto classes that would bring all others along."""
    try:
        return import_class(name)
    except AttributeError:
        raise Refused(
            f"transformers {version('transformers')} has no class {name}; models that bring "
            "their own code can't be run"
        ) from None


class Classifier:
    """A sequence classifier on its device, ready to compute logits."""

    def __init__(
        self,
        kind: Any,
        folder: Path,
        *,
        precision: str,
        attention: str,
        target: str,
        pad_token_id: int,
    ) -> None:
        import torch

        half = {"bf16": torch.bfloat16, "fp16": torch.float16}
        dtype = half.get(precision, torch.float32)
        model, loading = kind.from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation=attention,
            local_files_only=True,
            use_safetensors=any(folder.glob("*.safetensors")),
            output_loading_info=True,
        )
        _check_trained(folder, loading)
        # Batches are padded with it and some heads look for it: both must mean the same token.
        model.config.pad_token_id = pad_token_id
        self.model = model.eval().requires_grad_(False).to(target)
        self._mode = torch.inference_mode
        accepted = inspect.signature(model.forward).parameters
        self._takes_types = "token_type_ids" in accepted

    def __call__(self, ids: Any, mask: Any, types: Any) -> Any:
        """Return the logits (entries x classes) of token ids; mask and types may be None."""
        more = {"token_type_ids": types} if self._takes_types and types is not None else {}
        with self._mode():
            return self.model(input_ids=ids, attention_mask=mask, **more).logits

    @property
    def attention_used(self) -> str:
        """The attention implementation in effect, which may differ from the one asked for."""
        return self.model.config._attn_implementation

    @property
    def dtype_used(self) -> str:
        """The type of the parameters, or of each where they differ."""
        kinds = {str(one.dtype).removeprefix("torch.") for one in self.model.parameters()}
        return "+".join(sorted(kinds))

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters and buffers."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        return sum(one.numel() * one.element_size() for one in tensors)


def _check_trained(folder: Path, loading: dict[str, Any]) -> None:
    """Raise Refused if a weight isn't in the model's files: it would hold random numbers."""
    missing = sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})
    if missing:
        raise Refused(
            f"{folder}: the weights lack {', '.join(missing[:3])}"
            f"{' and others' if len(missing) > 3 else ''}, or have another shape; is this model "
            "trained for classification?"
        )
