"""Start-up without the parts of torch and transformers that a pass never calls.

Importing a model class of transformers 5.24 takes 2.2 s of CPU time beside torch's own 1.1 s; 1.2 s
of it go to torch's compiler, its symbolic shapes and its distributed tensors, imported for
decorators that tell the compiler what to leave alone, and 0.5 to 2 s more to optional packages that
happen to be installed. A pass that compiles nothing and is one process needs none of them. They are
kept out during import and loading, and nothing that computes is changed. A version of transformers
that can't start that way is imported as usual.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

OPTIONAL_PACKAGES = (
    "PIL",
    "accelerate",
    "bitsandbytes",
    "cv2",
    "deepspeed",
    "flax",
    "jax",
    "librosa",
    "mlflow",
    "onnx",
    "onnxruntime",
    "pandas",
    "peft",
    "scipy",
    "sklearn",
    "tensorflow",
    "torchao",
    "torchaudio",
    "torchvision",
    "wandb",
)
"""Packages that transformers imports where they are installed and a classifier doesn't use."""

COMPILER = ("torch._dynamo", "torch._dynamo._trace_wrapped_higher_order_op")


@contextmanager
def hidden(packages: tuple[str, ...]) -> Iterator[None]:
    """Make packages look absent: None in `sys.modules` is Python's own way to say so."""
    absent = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))
    try:
        yield
    finally:
        for name in absent:
            if sys.modules.get(name, name) is None:
                del sys.modules[name]


class _Marks(ModuleType):
    """Stands in for the compiler's module: every name is a decorator that changes nothing."""

    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _unchanged


def _unchanged(function: Callable | None = None, *_: Any, **__: Any) -> Any:
    return function if callable(function) else _unchanged


@contextmanager
def without_compiler() -> Iterator[None]:
    """Keep torch's compiler and distributed tensors from being imported."""
    import torch
    import torch.distributed

    if any(name in sys.modules for name in COMPILER):
        yield
        return
    available, disable = torch.distributed.is_available, torch.compiler.disable
    torch.distributed.is_available = lambda: False
    torch.compiler.disable = _unchanged
    sys.modules.update({name: _Marks(name) for name in COMPILER})
    try:
        yield
    finally:
        torch.distributed.is_available, torch.compiler.disable = available, disable
        for name in COMPILER:
            sys.modules.pop(name, None)
        vars(torch).pop("_dynamo", None)


@contextmanager
def lean_start(needed: tuple[str, ...] = (), compiler: bool = False) -> Iterator[None]:
    """Import and load inside with what isn't `needed` kept out; `compiler`: torch's as well."""
    packages = tuple(name for name in OPTIONAL_PACKAGES if name not in needed)
    with hidden(packages), contextlib.nullcontext() if compiler else without_compiler():
        yield


def import_class(name: str) -> Any:
    """Return a class of transformers, to be called inside `lean_start`.

    Raises AttributeError where transformers has none of that name.
    """
    try:
        return getattr(importlib.import_module("transformers"), name)
    except (ImportError, AttributeError):
        if not isinstance(sys.modules.get(COMPILER[0]), _Marks):
            raise
    # This version needs the compiler's module after all: start over with the real one.
    for module in [one for one in sys.modules if one.partition(".")[0] == "transformers"]:
        del sys.modules[module]
    for module in COMPILER:
        del sys.modules[module]
    return getattr(importlib.import_module("transformers"), name)
