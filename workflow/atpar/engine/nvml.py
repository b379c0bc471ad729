"""What NVIDIA's management library tells; every answer is a value or the reason it is missing.

GPUs are told by UUID: indices differ from nvidia-smi's when CUDA orders devices its own way or
CUDA_VISIBLE_DEVICES hides some.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

UNKNOWN = "NVML doesn't tell it on this device"


@contextmanager
def nvml() -> Iterator[Any]:
    """Give the initialised library. Raises OSError with the reason where there is none."""
    try:
        import pynvml
    except ImportError:
        raise OSError("nvidia-ml-py isn't installed") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise OSError(f"NVML: {error}") from None
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def ask(library: Any, question: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return NVML's answer, or None with the reason."""
    try:
        return question(), None
    except library.NVMLError as error:
        return None, f"NVML: {error}"


def handle_of(library: Any, device: str | int) -> Any:
    """Return the handle of a GPU or a MIG slice by its UUID, or of a GPU by its index.

    Raises OSError with the reason where there is none: it is another node's, or was lost.
    """
    try:
        if isinstance(device, int):
            return library.nvmlDeviceGetHandleByIndex(device)
        return library.nvmlDeviceGetHandleByUUID(device.encode())
    except library.NVMLError as error:
        raise OSError(f"NVML gives no GPU {device}: {error}") from None


def memory_of_process(
    uuid: str | None, process: int | None = None
) -> tuple[int | None, str | None]:
    """Return the device memory in bytes that the driver counts for a process, or the reason."""
    if uuid is None:
        return None, "the device has no UUID"
    process = os.getpid() if process is None else process
    try:
        with nvml() as library:
            found, reason = ask(
                library,
                lambda: library.nvmlDeviceGetComputeRunningProcesses(handle_of(library, uuid)),
            )
    except OSError as error:
        return None, str(error)
    if found is None:
        return None, reason
    for one in found:
        if one.pid == process:
            return (one.usedGpuMemory, None) if one.usedGpuMemory else (None, UNKNOWN)
    return None, "NVML doesn't list this process (another process id namespace?)"


def visible_devices(environment: Mapping[str, str] = os.environ) -> list[str | int] | None:
    """Return the entries of CUDA_VISIBLE_DEVICES: indices, and UUIDs of GPUs and MIG slices.

    None: not set, every device is visible. As CUDA does, entries after the first impossible one
    (such as -1) are ignored.
    """
    text = environment.get("CUDA_VISIBLE_DEVICES")
    return None if text is None else device_entries(text)


def device_entries(text: str) -> list[str | int]:
    """Return the entries of such a variable up to the first impossible one."""
    entries: list[str | int] = []
    for entry in (part.strip() for part in text.split(",")):
        if entry.isdigit():
            entries.append(int(entry))
        elif entry.startswith(("GPU-", "MIG-")):
            entries.append(entry)
        else:
            break
    return entries
