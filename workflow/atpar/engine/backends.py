"""What a variant computes with: torch, or onnxruntime. Each is imported and loaded by itself."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from atpar.config.combinations import impossible_on
from atpar.engine.classifier import Classifier, architecture, model_class
from atpar.engine.devices import ArrayDevice, Device, open_device
from atpar.engine.in_effect import without_arithmetic
from atpar.engine.job import Job, model_folder
from atpar.engine.lean import lean_start
from atpar.engine.onnx_model import OnnxClassifier
from atpar.engine.packages import lacking, optional
from atpar.engine.refused import Refused
from atpar.engine.spread import spread_over

INTEROP_THREADS = 1
FLASH_SINCE = 8.0
"""Compute capability of the first cards that flash-attn has kernels for (Ampere)."""


class Backend(Protocol):
    """The two steps of a start-up, timed apart by the worker."""

    def start_up(self) -> Any:
        """Return a context that both steps are done in."""

    def open(self) -> Device:
        """Import what computes and return the device."""

    def load(self, device: Device, longest: int) -> Any:
        """Return the loaded classifier; `longest` is the longest input in tokens."""


def backend_of(
    job: Job, fingerprint: dict[str, Any], expected: dict[str, Any], member: int = 0
) -> Backend:
    """Return the variant's backend for one of its processes.

    `expected` is the device in environment.json; member n computes on the n-th GPU.

    Raises Refused for what this machine can't run.
    """
    reason = impossible_on(job.variant, expected["kind"]) or lacking(job.variant)
    reason = reason or without_arithmetic(job.variant["precision"], expected)[0]
    if reason is not None:
        raise Refused(reason)
    _check_padding_side(job.variant["pad_side"], fingerprint.get("padding_sides"))
    if job.variant["backend"] == "onnxruntime":
        return OnnxBackend(job, expected)
    return TorchBackend(job, fingerprint, expected, member)


def _check_padding_side(asked: str | None, possible: list[str] | None) -> None:
    """Raise Refused for a side on which the model check saw that padding changes the scores."""
    if asked is not None and possible is not None and asked not in possible:
        raise Refused(
            f"pad_side is {asked}, but this model gives an entry padded on the {asked} other "
            f"scores than alone; it can be padded on the {' or '.join(possible)}"
        )


class TorchBackend:
    """The model's own class of transformers, in torch."""

    def __init__(
        self, job: Job, fingerprint: dict[str, Any], expected: dict[str, Any], member: int
    ) -> None:
        self.job, self.fingerprint, self.member = job, fingerprint, member
        devices = expected["devices"]
        self.expected = devices[member] if member < len(devices) else expected
        self.folder = model_folder(fingerprint)
        self.compiles = job.variant["compile"] != "none"
        self.cards = expected["count"] if job.variant["device_map"] else 1
        if job.variant["device_map"] and self.cards < 2:
            raise Refused("device_map spreads a model over several GPUs; there is one here")
        flash = job.variant["attention"] == "flash" and job.variant["padding"] != "none"
        # Packed entries take torch's own kernel.
        capability = self.expected.get("compute_capability")
        if flash and capability and float(capability) < FLASH_SINCE:
            raise Refused(f"compute capability {capability} has no kernels of flash attention")
        if flash and find_spec("flash_attn") is None:
            # transformers would look for a kernel on the hub: other code than was fingerprinted.
            raise Refused("attention is flash, but the package flash-attn isn't installed")

    @contextmanager
    def start_up(self) -> Iterator[None]:
        """Keep what isn't needed from being imported."""
        needed = optional(self.job.variant)
        # These packages ask for parts of torch's compiler as they are imported.
        with lean_start(needed=needed, compiler=self.compiles or bool(needed)):
            yield

    def open(self) -> Device:
        """Import torch and the model's class, and set torch up."""
        self.kind = model_class(architecture(self.folder))
        device = open_device(self.job.offer["device"], self.expected["name"], self.member)
        check_device(device, self.expected, self.job.inputs.environment)
        if self.cards > 1:
            device = spread_over(self.cards)
        self._prepare()
        return device

    def _prepare(self) -> None:
        import torch

        torch.set_num_threads(self.job.threads)
        torch.set_num_interop_threads(INTEROP_THREADS)
        torch.manual_seed(self.job.seed)
        # "highest" is fp32 proper; TF32 is a precision of its own, never a default.
        tf32 = self.job.variant["precision"] == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = tf32
        # Not torch.use_deterministic_algorithms: that imports the compiler, to tell it as well.
        deterministic = self.job.protocol["deterministic"]
        torch._C._set_deterministic_algorithms(deterministic, warn_only=True)
        # A help for debugging that fills every new tensor: it would be measured with each of them.
        torch.utils.deterministic.fill_uninitialized_memory = False

    def load(self, device: Device, longest: int) -> Classifier:
        """Load the weights onto the device."""
        classifier = Classifier(
            self.kind,
            self.folder,
            variant=self.job.variant,
            target=device.target,
            pad_token_id=self.fingerprint["pad_token_id"],
            longest=longest,
        )
        precision, stored = self.job.variant["precision"], self.fingerprint.get("dtype")
        emulated = without_arithmetic(precision, self.expected)[1]
        classifier.remarks += [emulated] if emulated else []
        if precision in ("fp32", "tf32") and stored in ("bf16", "fp16"):
            classifier.remarks.append(f"the weights are stored in {stored}: rounded before")
        return classifier


class OnnxBackend:
    """The exported model in onnxruntime; torch isn't imported at all."""

    def __init__(self, job: Job, expected: dict[str, Any]) -> None:
        self.job, self.expected = job, expected

    @contextmanager
    def start_up(self) -> Iterator[None]:
        """Nothing needs to be kept out."""
        yield

    def open(self) -> Device:
        """Import onnxruntime."""
        import onnxruntime  # noqa: F401

        return ArrayDevice(self.expected["name"])

    def load(self, device: Device, longest: int) -> OnnxClassifier:  # noqa: ARG002
        """Start a session over the exported graph."""
        return OnnxClassifier(Path(self.job.inputs.onnx), self.job.threads)


def check_device(device: Device, expected: dict[str, Any], environment: str) -> None:
    """Raise Refused if the device isn't the one that was inspected."""
    # A MIG slice has a UUID of its own, which torch doesn't tell.
    known = expected["uuid"] and expected["uuid"].startswith("GPU-") and device.uuid
    if device.kind != expected["kind"] or (known and device.uuid != expected["uuid"]):
        raise Refused(
            f"torch computes on {device.kind} {device.name} ({device.uuid}), but {environment} "
            f"describes {expected['kind']} {expected['name']} ({expected['uuid']}); delete that "
            "file so that the machine is inspected again"
        )


def read_json(path: str) -> Any:
    """Read a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))
