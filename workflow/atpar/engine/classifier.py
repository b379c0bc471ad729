"""The model of a pass, loaded through its own class of transformers."""

import inspect
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from atpar.engine.compiled import GRAPHED, breaks, compiled, graphs
from atpar.engine.in_effect import check_loaded, torch_settings
from atpar.engine.lean import import_class, load_pretrained
from atpar.engine.owned import own_weights
from atpar.engine.packed import Packing
from atpar.engine.quantize import METHODS, loading_options, packed_bytes, quantized, stored_bytes
from atpar.engine.refused import Refused
from atpar.engine.reordered import reorder_linear
from atpar.engine.spread import spread_note

ATTENTION = {"sdpa": "sdpa", "eager": "eager", "flash": "flash_attention_2"}


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
        variant: Mapping[str, Any],
        target: str,
        pad_token_id: int,
        longest: int | None = None,
    ) -> None:
        import torch

        packed = variant["padding"] == "none"
        attention = ATTENTION["sdpa" if packed else variant["attention"]]
        half = {"bf16": torch.bfloat16, "fp16": torch.float16}
        dtype = half.get(variant["precision"], torch.float32)
        self.quantization = variant["quantization"]
        options = loading_options(self.quantization, target)
        if variant["device_map"]:
            options["device_map"] = variant["device_map"]
        model, loading = load_pretrained(
            kind,
            folder,
            dtype=dtype,
            attn_implementation=attention,
            local_files_only=True,
            use_safetensors=any(folder.glob("*.safetensors")),
            output_loading_info=True,
            **options,
        )
        _check_trained(folder, loading)
        # Batches are padded with it and some heads look for it: both must mean the same token.
        model.config.pad_token_id = pad_token_id
        accepted = inspect.signature(model.forward).parameters
        self._takes_types = "token_type_ids" in accepted
        self._mode = torch.inference_mode
        self.model = model.eval().requires_grad_(False)
        spread = [spread_note(self.model)] if variant["device_map"] else []
        if not options:
            # What was told where to go as it was loaded is there already.
            self.model = self.model.to(target)
        if target == "cpu":
            own_weights(self.model)
        self.remarks = [*spread, *check_loaded(self.model, attention, dtype, target)]
        self._packing = None
        if packed:
            self._packing = Packing(self.model, variant["attention"] == "flash", longest)
        self.model = quantized(self.model, self.quantization)
        self._forward = self.model
        self.compiles = variant["compile"] != "none"
        self._overwrites = variant["compile"] in GRAPHED and target != "cpu"
        if target == "cpu" and not self.compiles and self.quantization == "none":
            self.remarks += reorder_linear(self.model, self._probe)
        if self.compiles:
            self._forward = compiled(self.model, variant["compile"], variant["shapes"])

    def _probe(self) -> Any:
        """Return the logits of one short entry."""
        import numpy as np
        import torch

        ids = torch.arange(8)[None]
        return self(ids, None if self._packing is None else np.array([8]), None)

    def __call__(self, ids: Any, mask: Any, types: Any) -> Any:
        """Return the logits (entries x classes) of token ids; mask and types may be None.

        For packed entries `mask` holds their lengths.
        """
        if self._packing is not None:
            with self._mode():
                return self._packing.logits(self.model, ids, mask, types)
        more = {"token_type_ids": types} if self._takes_types and types is not None else {}
        with self._mode():
            logits = self._forward(input_ids=ids, attention_mask=mask, **more).logits
            # They stay on the device until they are fetched, many runs later.
            return logits.clone() if self._overwrites else logits

    @property
    def in_effect(self) -> dict[str, Any]:
        """The settings of arithmetic and threads that were in effect."""
        return torch_settings()

    @property
    def graphs(self) -> int | None:
        """Graphs compiled so far, None for a variant that compiles nothing."""
        return graphs() if self.compiles else None

    @property
    def notes(self) -> list[str]:
        """What a reader of the record should know of how this was computed."""
        method = METHODS.get(self.quantization)
        notes = [*self.remarks, *([method] if method else [])]
        if self.compiles and (count := breaks()):
            notes.append(f"the compiler left its graph at {count} places")
        return notes

    @property
    def attention_used(self) -> str:
        """The attention implementation in effect, which may differ from the one asked for."""
        if self._packing is not None:
            return f"{'flash' if self._packing.flash else 'sdpa'} within packed entries"
        return self.model.config._attn_implementation

    @property
    def dtype_used(self) -> str:
        """The type of the parameters, or of each where they differ."""
        kinds = {str(one.dtype).removeprefix("torch.") for one in self.model.parameters()}
        return "+".join(sorted(kinds | ({"int8"} if self.quantization != "none" else set())))

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters and buffers."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        return sum(map(stored_bytes, tensors)) + packed_bytes(self.model)


def _check_trained(folder: Path, loading: dict[str, Any]) -> None:
    """Raise Refused if a weight isn't in the model's files: it would hold random numbers."""
    missing = sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})
    if missing:
        raise Refused(
            f"{folder}: the weights lack {', '.join(missing[:3])}"
            f"{' and others' if len(missing) > 3 else ''}, or have another shape; is this model "
            "trained for classification?"
        )
