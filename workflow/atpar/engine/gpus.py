"""The GPUs of this machine as their drivers tell of them, in the order in which torch sees them."""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from atpar.engine.nvml import ask, device_entries, handle_of, nvml, visible_devices

KFD = Path("/sys/class/kfd/kfd/topology/nodes")
AMDGPU = Path("/sys/module/amdgpu/version")
ROCM = Path("/opt/rocm/.info/version")
HIDING = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def nvidia_devices() -> tuple[list[dict[str, Any]], str]:
    """Return the visible NVIDIA GPUs and MIG slices, or the reason why there are none."""
    try:
        with nvml() as library:
            found = [_nvidia(library, handle) for handle in _handles(library)]
    except OSError as error:
        return [], str(error)
    return found, "" if found else "CUDA_VISIBLE_DEVICES hides every GPU"


def _handles(library: Any) -> Iterator[Any]:
    visible = visible_devices()
    for entry in range(library.nvmlDeviceGetCount()) if visible is None else visible:
        handle = handle_of(library, entry)
        yield _first_slice(library, handle) or handle


def _first_slice(library: Any, handle: Any) -> Any:
    """Return the first slice of a GPU in MIG mode, which is all that CUDA sees of it; else None."""
    mode, _ = ask(library, lambda: library.nvmlDeviceGetMigMode(handle)[0])
    if not mode:
        return None
    count, _ = ask(library, lambda: library.nvmlDeviceGetMaxMigDeviceCount(handle))
    for number in range(count or 0):
        found, _ = ask(
            library, partial(library.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
        )
        if found is not None:
            return found
    return None


def _nvidia(library: Any, handle: Any) -> dict[str, Any]:
    questions = {
        "name": lambda: _text(library.nvmlDeviceGetName(handle)),
        "uuid": lambda: _text(library.nvmlDeviceGetUUID(handle)),
        "memory_bytes": lambda: library.nvmlDeviceGetMemoryInfo(handle).total,
        "compute_capability": lambda: ".".join(
            map(str, library.nvmlDeviceGetCudaComputeCapability(handle))
        ),
        "power_limit_w": lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "ecc": lambda: bool(library.nvmlDeviceGetEccMode(handle)[0]),
        "mig": lambda: bool(library.nvmlDeviceGetMigMode(handle)[0]),
        "persistence": lambda: bool(library.nvmlDeviceGetPersistenceMode(handle)),
        "bus": lambda: _text(library.nvmlDeviceGetPciInfo(handle).busId),
        "driver": lambda: _text(library.nvmlSystemGetDriverVersion()),
        "cuda_of_driver": lambda: _cuda(library.nvmlSystemGetCudaDriverVersion_v2()),
        "max_sm_clock_mhz": lambda: library.nvmlDeviceGetMaxClockInfo(
            handle, library.NVML_CLOCK_SM
        ),
        "max_memory_clock_mhz": lambda: library.nvmlDeviceGetMaxClockInfo(
            handle, library.NVML_CLOCK_MEM
        ),
        "application_sm_clock_mhz": lambda: library.nvmlDeviceGetApplicationsClock(
            handle, library.NVML_CLOCK_SM
        ),
        "pcie": lambda: (
            f"generation {library.nvmlDeviceGetMaxPcieLinkGeneration(handle)}, "
            f"{library.nvmlDeviceGetMaxPcieLinkWidth(handle)} lanes"
        ),
        "nvlinks": lambda: _nvlinks(library, handle),
    }
    values: dict[str, Any] = {"kind": "cuda"}
    reasons = {}
    for name, question in questions.items():
        values[name], reason = ask(library, question)
        if reason is not None:
            reasons[name] = reason
    return {**values, "reasons": reasons}


def _cuda(version: int) -> str:
    """Return the newest CUDA version that the driver runs: 12040 is 12.4."""
    return f"{version // 1000}.{version % 1000 // 10}"


def _nvlinks(library: Any, handle: Any) -> int:
    """Return how many NVLinks of a GPU are up; 0 on a card that has none."""
    states = []
    for link in range(library.NVML_NVLINK_MAX_LINKS):
        try:
            states.append(library.nvmlDeviceGetNvLinkState(handle, link))
        except (library.NVMLError_NotSupported, library.NVMLError_InvalidArgument):
            break  # No link has this number, nor a higher one.
    return sum(map(bool, states))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def rocm_devices(
    nodes: Path = KFD, driver: Path = AMDGPU, rocm: Path = ROCM
) -> tuple[list[dict[str, Any]], str]:
    """Return the visible AMD GPUs from the kernel's topology, or the reason why there are none."""
    found = []
    for node in sorted(nodes.glob("*"), key=lambda one: int(one.name)):
        properties = _properties(node / "properties")
        if int(properties.get("simd_count", 0)) == 0:
            continue  # A CPU node.
        unique = int(properties.get("unique_id", 0))
        values = {
            "kind": "rocm",
            "name": _read(node / "name") or None,
            "uuid": f"GPU-{unique:016x}" if unique else None,
            "memory_bytes": _rocm_memory(node),
            "gfx": _gfx(int(properties.get("gfx_target_version", 0))),
            "rocm": _read(rocm),
            "driver": _read(driver),
            "gpu_id": _read(node / "gpu_id"),
        }
        reasons = {
            name: "the kernel's topology doesn't tell it"
            for name, value in values.items()
            if value is None
        }
        found.append({**values, "reasons": reasons})
    if not found:
        return [], f"no GPU in {nodes}"
    shown = rocm_visible(found)
    return shown, "" if shown else f"{' and '.join(HIDING)} hide every GPU"


def rocm_visible(
    found: list[dict[str, Any]], environment: Mapping[str, str] = os.environ
) -> list[dict[str, Any]]:
    """Return the GPUs that HIP sees, in its order.

    ROCR_VISIBLE_DEVICES is applied first; HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES in its
    absence, picks from what that leaves ("GPU isolation techniques", rocm.docs.amd.com).
    """
    hip = HIDING[1] if HIDING[1] in environment else HIDING[2]
    for name in (HIDING[0], hip):
        if name in environment:
            by_name = {str(one["uuid"]).lower(): one for one in found} | dict(enumerate(found))
            wanted = device_entries(environment[name])
            keys = [one if isinstance(one, int) else one.lower() for one in wanted]
            found = [by_name[one] for one in keys if one in by_name]
    return found


def _properties(path: Path) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in (_read(path) or "").splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _rocm_memory(node: Path) -> int | None:
    """Return the bytes of the node's local memory banks (heap types 1 and 2)."""
    banks = [_properties(path / "properties") for path in sorted(node.glob("mem_banks/*"))]
    sizes = [int(bank["size_in_bytes"]) for bank in banks if bank.get("heap_type") in ("1", "2")]
    return sum(sizes) or None


def _gfx(version: int) -> str | None:
    """Return the architecture's name: 90010 is gfx90a (major, minor and step in decimal pairs)."""
    if not version:
        return None
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
