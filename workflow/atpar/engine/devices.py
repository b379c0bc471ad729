"""The seam between a pass and the device that computes it.

A pass speaks to a `Device` alone, so that its boundaries (wait before the clock starts, wait before
it stops [P15]) and its memory scopes are one piece of code for CPU, CUDA and ROCm, and tests can
put a stand-in with a queue of its own behind it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from atpar.engine.batching import Batch

Reasoned = tuple[dict[str, int | None], dict[str, str]]
Staged = tuple[Any, Any, Any]
"""Token ids, attention mask or None, token types or None."""


class Device(Protocol):
    """What a pass asks of a device."""

    kind: str
    """`cpu`, `cuda` or `rocm`."""
    name: str
    uuid: str | None
    asynchronous: bool
    """Whether work is queued: a call returns before its work is done."""
    target: str
    """The device as torch spells it."""

    def stage(self, batch: Batch) -> Staged:
        """Return ids, mask and types as `upload` takes them; may be called from any thread."""

    def upload(self, staged: Any) -> Any:
        """Return one of them as a tensor on the device; may return before the copy is over."""

    def download(self, tensors: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """Begin to copy the tensors to the host, as float32 arrays.

        What is returned waits until they are computed and copied, and returns them.
        """

    def synchronise(self) -> None:
        """Wait until everything queued is done."""

    def mark(self) -> Any:
        """Put a mark into the queue and return it; None where the device has no queue."""

    def between(self, start: Any, stop: Any) -> float | None:
        """Seconds of device time between two marks that were passed, or None."""

    def trim(self) -> None:
        """Give memory that nothing uses back, so that a later peak isn't that of loading."""

    def reset_peaks(self) -> None:
        """Set the peak counters back to the present level."""

    def peaks(self, scope: str) -> Reasoned:
        """Return peaks since the last reset as `peak_..._<scope>_bytes`, and why one is None."""

    def used_by_process(self) -> Reasoned:
        """Return the driver's own count of this process's memory, and why it is None."""


NO_DEVICE_MEMORY = "the pass ran on the CPU: there is no device memory"


class CpuDevice:
    """The host's CPU: every call returns when its work is done."""

    kind = "cpu"
    asynchronous = False
    target = "cpu"
    uuid = None

    def __init__(self, name: str) -> None:
        self.name = name

    def stage(self, batch: Batch) -> Staged:
        """Return the batch's arrays as they are."""
        return batch.ids, batch.mask, batch.types

    def upload(self, staged: np.ndarray) -> Any:
        """Return a tensor that shares the array's memory: nothing is copied on the host."""
        import torch

        return torch.from_numpy(staged)

    def download(self, tensors: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """Return what gives the tensors as float32 arrays; they are computed already."""
        return lambda: [tensor.float().numpy() for tensor in tensors]

    def synchronise(self) -> None:
        """Nothing is ever queued."""

    def mark(self) -> None:
        """There is no queue to mark."""

    def between(self, start: Any, stop: Any) -> None:
        """There is no device time apart from the host's."""

    def trim(self) -> None:
        """There is no device memory."""

    def reset_peaks(self) -> None:
        """There is no device memory."""

    def peaks(self, scope: str) -> Reasoned:
        """Return None for both counters, with the reason."""
        names = [f"peak_device_{counter}_{scope}_bytes" for counter in ("allocated", "reserved")]
        return dict.fromkeys(names), dict.fromkeys(names, NO_DEVICE_MEMORY)

    def used_by_process(self) -> Reasoned:
        """Return None, with the reason."""
        name = "device_used_by_process_bytes"
        return {name: None}, {name: NO_DEVICE_MEMORY}


class ArrayDevice(CpuDevice):
    """The host's CPU for a backend that takes and gives NumPy arrays."""

    target = "cpu"

    def upload(self, staged: np.ndarray) -> np.ndarray:
        """Return the array as it is."""
        return staged

    def download(self, tensors: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """Return what gives the arrays as they are."""
        return lambda: list(tensors)


class CudaDevice:
    """One GPU through torch: CUDA, or ROCm, which answers to the same names."""

    asynchronous = True

    def __init__(self, index: int = 0) -> None:
        import torch

        self._torch = torch
        self._cuda = torch.cuda
        self._index = index
        self.target = f"cuda:{index}"
        self.kind = "rocm" if torch.version.hip else "cuda"
        properties = torch.cuda.get_device_properties(index)
        self.name = properties.name
        uuid = getattr(properties, "uuid", None)
        self.uuid = None if uuid is None else device_uuid(str(uuid), self.kind)
        torch.cuda.set_device(index)

    def stage(self, batch: Batch) -> Staged:
        """Copy into pinned memory, which the device reads without the host's help."""
        with self._cuda.device(self._index):
            ids, mask, types = (
                None if one is None else self._torch.from_numpy(one).pin_memory()
                for one in (batch.ids, batch.mask, batch.types)
            )
        return ids, mask, types

    def upload(self, staged: Any) -> Any:
        """Queue the copy without waiting; the allocator keeps the buffer until it is over."""
        return staged.to(self.target, non_blocking=True)

    def download(self, tensors: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """Queue one copy of all tensors into pinned memory, and an event behind it."""
        together = self._torch.cat([tensor.float() for tensor in tensors])
        pinned = self._torch.empty(together.shape, dtype=together.dtype, pin_memory=True)
        pinned.copy_(together, non_blocking=True)
        copied = self._cuda.Event()
        copied.record()
        ends = np.cumsum([len(tensor) for tensor in tensors])[:-1]

        def arrived() -> list[np.ndarray]:
            copied.synchronize()
            return np.split(pinned.numpy(), ends)

        return arrived

    def synchronise(self) -> None:
        """Wait until all streams of the device are done."""
        self._cuda.synchronize(self._index)

    def mark(self) -> Any:
        """Record a timing event on the current stream."""
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, start: Any, stop: Any) -> float:
        """Seconds between two recorded events."""
        return start.elapsed_time(stop) / 1000

    def trim(self) -> None:
        """Give the blocks of torch's pool that hold no tensor back to the driver."""
        self._cuda.empty_cache()

    def reset_peaks(self) -> None:
        """Set torch's allocated and reserved peaks back to the present level."""
        self._cuda.reset_peak_memory_stats(self._index)

    def peaks(self, scope: str) -> Reasoned:
        """Return torch's peaks: tensors (allocated), and the allocator's pool (reserved)."""
        return {
            f"peak_device_allocated_{scope}_bytes": self._cuda.max_memory_allocated(self._index),
            f"peak_device_reserved_{scope}_bytes": self._cuda.max_memory_reserved(self._index),
        }, {}

    def used_by_process(self) -> Reasoned:
        """Return NVML's count for this process, the context of the driver included."""
        from atpar.engine.nvml import memory_of_process

        name = "device_used_by_process_bytes"
        value, reason = memory_of_process(self.uuid)
        return {name: value}, {} if reason is None else {name: reason}


def device_uuid(text: str, kind: str) -> str:
    """Return a GPU's UUID as its driver spells it, from torch's spelling.

    HIP keeps the unique id as 16 characters of text, which torch prints as the bytes of a UUID.
    """
    if kind == "rocm":
        try:
            unique = bytes.fromhex(text.replace("-", "")).decode("ascii")
            return f"GPU-{int(unique, 16):016x}"
        except ValueError:
            pass
    return f"GPU-{text.removeprefix('GPU-')}"


def open_device(asked: str, cpu_name: str, index: int = 0) -> Device:
    """Return the device that an offer asks for: `cpu`, `cuda`, or `auto`; `index` is the GPU's.

    Raises RuntimeError when a GPU is asked for and torch finds none: a pass never falls back to
    the CPU while a GPU's price is paid.
    """
    if asked == "cpu":
        return CpuDevice(cpu_name)
    import torch

    if torch.cuda.is_available():
        return CudaDevice(index)
    if asked == "cuda":
        raise RuntimeError(
            f"the offer asks for device cuda, but torch {torch.__version__} finds no GPU; check "
            "the driver, CUDA_VISIBLE_DEVICES, and that the installed torch is built for it"
        )
    return CpuDevice(cpu_name)


def counted(peaks: Reasoned, parameter_bytes: int) -> Reasoned:
    """Return peaks without the impossible: less than the parameters that lie on the device.

    Some backends forget live bytes when their peaks are reset; such a figure is no measurement.
    """
    values, reasons = dict(peaks[0]), dict(peaks[1])
    for name, value in values.items():
        if value is not None and value < parameter_bytes:
            reasons[name] = (
                f"the counter gave {value} bytes, less than the {parameter_bytes} bytes of "
                "parameters on the device"
            )
            values[name] = None
    return values, reasons
