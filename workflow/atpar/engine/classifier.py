"""The model of a pass, loaded through its own class of transformers."""

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

UNUSED_PACKAGES = (
    "torchao",
    "sklearn",
    "scipy",
    "pandas",
    "torchvision",
    "torchaudio",
    "accelerate",
    "peft",
    "bitsandbytes",
    "deepspeed",
    "librosa",
    "PIL",
    "cv2",
    "onnx",
    "onnxruntime",
    "tensorflow",
    "flax",
    "jax",
    "wandb",
    "mlflow",
)
"""Optional packages that transformers imports when they are installed, and a pass doesn't use.

They took half of a pass's start-up (2.9 s with torchao, scikit-learn and scipy installed, 1.4 s
without) and change nothing that is computed.
"""


class Refused(Exception):
    """This combination of model, variant and machine can't be run; nothing was computed."""


@contextmanager
def hidden(packages: tuple[str, ...]) -> Iterator[None]:
    """Make optional packages look absent while transformers is imported.

    A None in `sys.modules` is Python's own way to say that a module can't be imported.
    """
    absent = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            if sys.modules.get(name, name) is None:
                del sys.modules[name]


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
    with hidden(UNUSED_PACKAGES):
        transformers = importlib.import_module("transformers")
        if not hasattr(transformers, name):
            raise Refused(
                f"transformers {transformers.__version__} has no class {name}; models that bring "
                "their own code can't be run"
            )
        return getattr(transformers, name)


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
        pad_token_id: int | None,
    ) -> None:
        import torch

        dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
        with hidden(UNUSED_PACKAGES):
            model = kind.from_pretrained(
                folder,
                dtype=dtype,
                attn_implementation=attention,
                local_files_only=True,
                use_safetensors=any(folder.glob("*.safetensors")),
            )
        if model.config.pad_token_id is None:
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
