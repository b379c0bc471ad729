"""What AMD's management library tells of a GPU now; each answer is a value or why it is missing.

The library is the Python package `amdsmi`, which comes with ROCm. Its functions and units are those
of "AMD SMI Python API reference" (rocm.docs.amd.com/projects/amdsmi).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

NOT_TOLD = "AMD SMI doesn't tell it on this device"


@contextmanager
def rocm_smi() -> Iterator[Any]:
    """Give the initialised library. Raises OSError with the reason where there is none."""
    try:
        import amdsmi
    except ImportError:
        raise OSError("amdsmi, which comes with ROCm, isn't installed for this Python") from None
    try:
        amdsmi.amdsmi_init()
    except amdsmi.AmdSmiException as error:
        raise OSError(f"AMD SMI: {error}") from None
    try:
        yield amdsmi
    finally:
        amdsmi.amdsmi_shut_down()


def rocm_state(uuid: str | None) -> dict[str, Any]:
    """Return a GPU's state in the fields and units of `gpu_state`."""
    try:
        with rocm_smi() as library:
            return _state(library, _handle_of(library, uuid))
    except OSError as error:
        return {"reasons": {"all": str(error)}}


def _handle_of(library: Any, uuid: str | None) -> Any:
    """Return the handle of the GPU with this unique id, as the kernel and amdsmi both tell it."""
    wanted = (uuid or "").removeprefix("GPU-").lower()
    handles, reason = _ask(library, library.amdsmi_get_processor_handles)
    if reason is not None:
        raise OSError(reason)
    for handle in handles:
        serial, _ = _ask(library, lambda one=handle: library.amdsmi_get_gpu_asic_info(one))
        if serial and str(serial["asic_serial"]).lower().removeprefix("0x").zfill(16) == wanted:
            return handle
    raise OSError(f"AMD SMI lists no GPU {uuid}")


def _state(library: Any, handle: Any) -> dict[str, Any]:
    def clock(kind: Any) -> Callable[[], Any]:
        return lambda: library.amdsmi_get_clock_info(handle, kind)["clk"]

    def power(*names: str) -> Callable[[], Any]:
        return lambda: _first(library.amdsmi_get_power_info(handle), names)

    questions = {
        "sm_clock_mhz": clock(library.AmdSmiClkType.GFX),
        "memory_clock_mhz": clock(library.AmdSmiClkType.MEM),
        "temperature_c": lambda: library.amdsmi_get_temp_metric(
            handle,
            library.AmdSmiTemperatureType.HOTSPOT,
            library.AmdSmiTemperatureMetric.CURRENT,
        ),
        "power_w": power("current_socket_power", "average_socket_power"),
        "power_limit_w": power("power_limit"),
        "energy_j": lambda: _joules(library.amdsmi_get_energy_count(handle)),
        # Bits of AMD's own, whose meaning differs between generations: kept as they are.
        "throttle_status": lambda: library.amdsmi_get_gpu_metrics_info(handle)["throttle_status"],
    }
    values, reasons = {}, {}
    for name, question in questions.items():
        values[name], reason = _ask(library, question)
        if reason is not None:
            reasons[name] = reason
    return {**values, "reasons": reasons}


def _first(found: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((found[one] for one in names if found.get(one) not in (None, "N/A")), None)


def _joules(found: Mapping[str, Any]) -> float:
    """Return the counter in joules: a count of steps, whose size is told in microjoules."""
    # Releases before 6.2 call the accumulator `power`.
    count = found["energy_accumulator"] if "energy_accumulator" in found else found["power"]
    return count * found["counter_resolution"] / 1e6


def _ask(library: Any, question: Callable[[], Any]) -> tuple[Any, str | None]:
    try:
        value = question()
    except library.AmdSmiException as error:
        return None, f"AMD SMI: {error}"
    except KeyError as error:
        return None, f"this release of amdsmi tells no {error}"
    # What a card doesn't have is told as text.
    return (None, NOT_TOLD) if value in (None, "N/A") else (value, None)
