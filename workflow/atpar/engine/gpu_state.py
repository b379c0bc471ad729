"""Clocks, heat, power and other processes of a GPU at one moment."""

import os
from typing import Any

from atpar.engine.devices import Device
from atpar.engine.nvml import ask, handle_of, nvml


def gpu_state(device: Device) -> dict[str, Any] | None:
    """Return the GPU's state now, None on a CPU; a value that can't be read is left out as None.

    Units: clocks in MHz, temperature in degrees Celsius, power in watts, energy in joules since
    the driver was loaded. `reasons` says why a value is None.
    """
    if device.kind == "cpu":
        return None
    if device.uuid is None or device.kind != "cuda":
        return {"reasons": {"all": f"no NVML for a {device.kind} device"}}
    try:
        with nvml() as library:
            return _state(library, handle_of(library, device.uuid))
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
    }
    values, reasons = {}, {}
    for name, question in questions.items():
        values[name], reason = ask(library, question)
        if reason is not None:
            reasons[name] = reason
    return {**values, "reasons": reasons}


def other_processes(uuid: str | None) -> list[str] | None:
    """Return the other compute processes on a GPU, None where that can't be told."""
    if uuid is None:
        return None
    try:
        with nvml() as library:
            found, _ = ask(
                library,
                lambda: library.nvmlDeviceGetComputeRunningProcesses(handle_of(library, uuid)),
            )
    except OSError:
        return None
    if found is None:
        return None
    return [f"process {one.pid}" for one in found if one.pid != os.getpid()]
