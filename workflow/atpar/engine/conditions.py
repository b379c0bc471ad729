"""Under which conditions a span was measured: what else used the CPUs and the device, and heat."""

import os
import time
from dataclasses import dataclass, field
from typing import Any

from atpar.engine.cpus import CpuTimes, cpu_times, used_by_others
from atpar.engine.devices import Device
from atpar.engine.gpu_state import gpu_state, other_processes

BUSY_CPUS = 0.5
"""More CPUs than this kept busy by others, while a pass loads, make the machine a busy one."""


@dataclass
class Conditions:
    """Readings at start-up, before, and after the measured span."""

    start_up: CpuTimes | None = field(default_factory=lambda: cpu_times(time.monotonic()))
    others_at_start_up: float | None = None
    others_on_device: list[str] | None = None
    first: CpuTimes | None = None
    values: dict[str, Any] = field(default_factory=dict)

    def before(self, device: Device) -> None:
        """Read what others used while this pass started up."""
        self.others_at_start_up = used_by_others(self.start_up, cpu_times(time.monotonic()))
        if device.kind == "cuda":
            self.others_on_device = other_processes(device.uuid)

    def busy(self, device: Device) -> str | None:
        """Return what else uses the device, None if nothing is known to."""
        if device.kind == "cpu":
            others = self.others_at_start_up or 0.0
            if others > BUSY_CPUS:
                return f"other processes kept {others:.1f} CPUs busy while this pass started up"
            return None
        if self.others_on_device:
            return "processes on the device: " + ", ".join(self.others_on_device)
        return None

    def start(self, device: Device) -> None:
        """Read the state just before the clock starts."""
        self.values = {
            "cpus_used_by_others_at_start_up": self.others_at_start_up,
            "load_average_1min": round(os.getloadavg()[0], 2),
            "processes_on_device": self.others_on_device,
            "device_before": gpu_state(device),
        }
        self.first = cpu_times(time.monotonic())

    def stop(self, device: Device) -> dict[str, Any]:
        """Read the state just after the clock stopped and return all readings."""
        others = used_by_others(self.first, cpu_times(time.monotonic()))
        return {
            **self.values,
            "cpus_used_by_others": others,
            "device_after": gpu_state(device),
        }
