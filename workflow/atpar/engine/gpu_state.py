"""Clocks, heat, power and other processes of a GPU at one moment."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from atpar.engine.nvml import ask, handle_of, nvml
from atpar.engine.rocm_smi import rocm_state

KFD_PROCESSES = Path("/sys/class/kfd/kfd/proc")


def gpu_state(kind: str, uuid: str | None) -> dict[str, Any] | None:
    """Return a GPU's state now, None on a CPU; a value that can't be read is left out as None.

    Units: clocks in MHz, temperature in degrees Celsius, power in watts, energy in joules since
    the driver was loaded. `reasons` says why a value is None.
    """
    if kind == "cpu":
        return None
    if kind == "rocm":
        return rocm_state(uuid)
    if uuid is None:
        return {"reasons": {"all": "the device has no UUID"}}
    try:
        with nvml() as library:
            return _state(library, handle_of(library, uuid))
    except OSError as error:
        return {"reasons": {"all": str(error)}}


def _state(library: Any, handle: Any) -> dict[str, Any]:
    questions = {
        "sm_clock_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM),
        "memory_clock_mhz": lambda: library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_MEM),
        "temperature_c": lambda: library.nvmlDeviceGetTemperature(
            handle, library.NVML_TEMPERATURE_GPU
        ),
        "power_w": lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000,
        "power_limit_w": lambda: library.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "energy_j": lambda: library.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
        "throttle_reasons": lambda: library.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        "power_violation_s": _violation(library, handle, "NVML_PERF_POLICY_POWER"),
        "thermal_violation_s": _violation(library, handle, "NVML_PERF_POLICY_THERMAL"),
    }
    values, reasons = {}, {}
    for name, question in questions.items():
        values[name], reason = ask(library, question)
        if reason is not None:
            reasons[name] = reason
    return {**values, "reasons": reasons}


def _violation(library: Any, handle: Any, policy: str) -> Callable[[], float]:
    """Return the question how many seconds in all a policy has lowered the clocks."""
    kind = getattr(library, policy)
    # nvml.h, nvmlViolationTime_t: in nanoseconds.
    return lambda: library.nvmlDeviceGetViolationStatus(handle, kind).violationTime / 1e9


THROTTLED = {
    0x04: "power limit (software)",
    0x08: "hardware slowdown",
    0x20: "heat (software)",
    0x40: "heat (hardware)",
    0x80: "power brake",
}
"""Bits of NVML's throttle reasons that mean lower clocks under load (nvml.h, event reasons)."""


VIOLATIONS = {"power_violation_s": "power limit", "thermal_violation_s": "heat"}
"""Counters of `gpu_state`, and what lowered the clocks while they ran."""
LEAST_SHARE = 0.01
"""Share of a span from which lowered clocks are told."""


def throttling(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, elapsed_s: float
) -> list[str]:
    """Return why a GPU's clocks were lowered in a span between two states; none: not known.

    The bits are of one moment after the span, when the card may idle already; the counters, where
    the driver has them, hold the whole span.
    """
    before, after = before or {}, after or {}
    bits = after.get("throttle_reasons") or 0
    found = [name for bit, name in THROTTLED.items() if bits & bit]
    for counter, name in VIOLATIONS.items():
        ends = before.get(counter), after.get(counter)
        if None not in ends and (lowered := ends[1] - ends[0]) > LEAST_SHARE * elapsed_s:
            found.append(f"{name} for {lowered:.1f} s of the span")
    return found


def occupancy(devices: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what uses each GPU (of environment.json) now: processes, and utilisation in percent.

    To be asked before this process has a context on the device: then every process is another
    one, even where a container doesn't know them by their ids. None is what can't be told.
    """
    return [_occupancy(one) for one in devices]


def _occupancy(device: Mapping[str, Any]) -> dict[str, Any]:
    kind, uuid = device["kind"], device["uuid"]
    found = {"kind": kind, "uuid": uuid, "processes": None, "utilisation": None}
    if kind == "rocm":
        return {**found, "processes": _kfd_processes(device.get("gpu_id"))}
    if uuid is None:
        return found
    try:
        with nvml() as library:
            handle = handle_of(library, uuid)
            processes, _ = ask(
                library, lambda: library.nvmlDeviceGetComputeRunningProcesses(handle)
            )
            used, _ = ask(library, lambda: library.nvmlDeviceGetUtilizationRates(handle).gpu)
    except OSError:
        return found
    named = None if processes is None else [f"process {one.pid}" for one in processes]
    return {**found, "processes": named, "utilisation": used}


def _kfd_processes(gpu_id: str | None) -> list[str] | None:
    """Return the processes that use an AMD GPU, None where the driver shows none.

    The driver lists a process under all GPUs, with the bytes that it has on each. Where these
    aren't told, every process may be using the card.
    """
    if not KFD_PROCESSES.is_dir():
        return None
    return [
        f"process {one.name}"
        for one in sorted(KFD_PROCESSES.iterdir())
        if _bytes_on(one / f"vram_{gpu_id}") != 0
    ]


def _bytes_on(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def in_use(found: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Return whether a GPU is used by others, None if it can't be told, and a sentence on it.

    A few MiB of memory without a process are the driver's own. NVML tells no utilisation of a MIG
    slice and none is told of AMD's GPUs: there the list of processes decides.
    """
    processes, utilisation = found["processes"], found["utilisation"]
    if processes:
        return True, "processes on the device: " + ", ".join(processes)
    if utilisation:
        return True, f"the device is {utilisation} % busy, with no process that this machine shows"
    whole = found["kind"] == "cuda" and str(found["uuid"]).startswith("GPU-")
    if processes is None or (whole and utilisation is None):
        what = "processes" if processes is None else "utilisation"
        return None, f"whether the device is idle isn't known: its driver tells no {what}"
    return False, "no process on the device"
