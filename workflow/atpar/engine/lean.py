"""Start-up without the parts of torch and transformers that a pass never calls.

Importing torch 2.13 and a model class of transformers 5.24 and loading a small model takes 5.0 s of
CPU time, and 1.5 s when what a pass never calls is left out:

- torch's compiler, symbolic shapes and distributed tensors, imported for decorators that tell the
  compiler what to leave alone (1.2 s);
- torch's shape functions in Python, for tensors without data: a model is built from such tensors,
  and the ones in C++ are enough for that (0.9 s, with what they import at the first use);
- the table of all of transformers' models, made by reading every file of every model (0.8 s);
- optional packages that happen to be installed (0.5 to 2 s), pandas among them.

They are kept out during import and loading, and nothing that computes is changed. A version of
transformers, or a model, that can't start that way is imported and loaded as usual.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from pathlib import Path
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
SHAPE_FUNCTIONS = "torch._meta_registrations"
MODELS = ("transformers", "models")
"""Where transformers keeps a folder for each kind of model."""
STARTING: ContextVar[bool] = ContextVar("starting", default=False)
"""True inside `lean_start`."""


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


def arrays_without_pandas() -> None:
    """Let pyarrow find that pandas is absent, for as long as this process lives.

    It would import pandas (0.3 s) at the first array that is made from NumPy's, to ask whether that
    is one of pandas' own.
    """
    import numpy as np
    import pyarrow as pa

    # Not by `hidden`: pyarrow takes a None in `sys.modules` for the module.
    refuse = _Refuse()
    sys.meta_path.insert(0, refuse)
    try:
        pa.array(np.empty(0))
    finally:
        sys.meta_path.remove(refuse)


class _Refuse(MetaPathFinder):
    """Says that pandas isn't installed."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


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
def without_shape_functions() -> Iterator[None]:
    """Import torch without its shape functions in Python; no effect where torch is imported."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules[SHAPE_FUNCTIONS] = ModuleType(SHAPE_FUNCTIONS)
    try:
        import torch  # noqa: F401
    finally:
        del sys.modules[SHAPE_FUNCTIONS]
    sys.meta_path.insert(0, _ShapeFunctionsFirst())
    yield


class _ShapeFunctionsFirst(MetaPathFinder):
    """Imports the shape functions before the compiler, which counts on their being there."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == COMPILER[0]:
            sys.meta_path.remove(self)
            importlib.import_module(SHAPE_FUNCTIONS)


class _Entries(list):
    """A folder's entries, as `os.scandir` gives them."""

    def __enter__(self) -> Iterator:
        return iter(self)

    def __exit__(self, *_: object) -> None:
        return


@contextmanager
def _one_model(name: str) -> Iterator[None]:
    """Let transformers see, among its models, the folder of this class and the auto classes."""
    scan, prefix = os.scandir, name.partition("For")[0].lower()

    def scandir(path: Any = ".") -> Any:
        if isinstance(path, int) or Path(os.fsdecode(path)).parts[-2:] != MODELS:
            return scan(path)
        with scan(path) as entries:
            return _Entries(
                one
                for one in entries
                if one.name.replace("_", "") == prefix or one.name in ("auto", "encoder_decoder")
            )

    os.scandir = scandir
    try:
        yield
    finally:
        os.scandir = scan


@contextmanager
def lean_start(needed: tuple[str, ...] = (), compiler: bool = False) -> Iterator[None]:
    """Import and load inside with what isn't `needed` kept out; `compiler`: torch's as well."""
    packages = tuple(name for name in OPTIONAL_PACKAGES if name not in needed)
    with contextlib.ExitStack() as kept_out:
        kept_out.callback(STARTING.reset, STARTING.set(True))
        kept_out.enter_context(hidden(packages))
        if not compiler:
            if not needed:
                kept_out.enter_context(without_shape_functions())
            kept_out.enter_context(without_compiler())
        yield


def import_class(name: str) -> Any:
    """Return a class of transformers; inside `lean_start` it is imported without all others.

    Raises AttributeError where transformers has none of that name.
    """
    lean = STARTING.get() and "transformers" not in sys.modules
    try:
        with _one_model(name) if lean else contextlib.nullcontext():
            return getattr(importlib.import_module("transformers"), name)
    except (ImportError, AttributeError):
        stands_in = isinstance(sys.modules.get(COMPILER[0]), _Marks)
        if not lean and not stands_in:
            raise
    # This version needs the compiler's module, or the table of all models, after all: start over.
    for module in [one for one in sys.modules if one.partition(".")[0] == "transformers"]:
        del sys.modules[module]
    for module in COMPILER if stands_in else ():
        del sys.modules[module]
    return getattr(importlib.import_module("transformers"), name)


def load_pretrained(kind: Any, folder: Path, **options: Any) -> Any:
    """Return what `kind.from_pretrained` returns, with torch's shape functions if it needs them."""
    try:
        return kind.from_pretrained(folder, **options)
    except NotImplementedError:
        if not _left_out_shape_functions():
            raise
    importlib.import_module(SHAPE_FUNCTIONS)
    return kind.from_pretrained(folder, **options)


def _left_out_shape_functions() -> bool:
    import torch

    module = getattr(torch, SHAPE_FUNCTIONS.partition(".")[2], None)
    return module is not None and not hasattr(module, "__file__")
