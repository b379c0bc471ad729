"""Under which conditions a span was measured: what else used the CPUs and the device, and heat."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atpar.engine.cpus import SHORTEST_S, CpuTimes, cpu_times, stolen, used_by_others
from atpar.engine.devices import Device
from atpar.engine.energy import energy
from atpar.engine.gpu_state import gpu_state, in_use, occupancy, throttling

BUSY_CPUS = 0.5
"""More CPUs than this kept busy by others, while a pass loads, make the machine a busy one."""
STOLEN_CPUS = 0.1
"""More than this taken by the host of a virtual machine, during the span, is noted."""
SETTLING_S = 2.0
"""Utilisation is a mean over up to a second: so long it may be that of a pass that has ended."""


def disturbances(found: Mapping[str, Any]) -> list[str]:
    """Return what disturbed a span, from its conditions, as notes of its record."""
    notes = []
    if found["throttled"]:
        notes.append(f"throttled: {', '.join(found['throttled'])}")
    if (found["cpus_stolen"] or 0.0) > STOLEN_CPUS:
        notes.append(
            f"busy device: the host gave {found['cpus_stolen']:.2f} of this machine's CPUs to "
            "others during the span"
        )
    return notes


@dataclass
class Conditions:
    """Readings at start-up, before, and after the measured span."""

    start_up: CpuTimes | None = field(default_factory=lambda: cpu_times(time.monotonic()))
    members: Sequence[int] = ()
    """Process ids of the crew's members: what they use isn't others'."""
    others_at_start_up: float | None = None
    on_devices: list[dict[str, Any]] = field(default_factory=list)
    cards: Sequence[Mapping[str, Any]] = ()
    first: CpuTimes | None = None
    values: dict[str, Any] = field(default_factory=dict)

    def look_at_devices(
        self,
        devices: Sequence[Mapping[str, Any]],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Read what uses the GPUs (of environment.json) before this process does."""
        for _ in range(round(SETTLING_S / 0.2)):
            self.on_devices = occupancy(devices)
            if not any(one["utilisation"] and not one["processes"] for one in self.on_devices):
                return
            wait(0.2)

    def before(self) -> None:
        """Read what others used while this pass started up."""
        if self.start_up is not None:
            time.sleep(max(0.0, self.start_up.at_s + SHORTEST_S - time.monotonic()))
        self.others_at_start_up = used_by_others(self.start_up, self._cpu_times())

    def _cpu_times(self) -> CpuTimes | None:
        return cpu_times(time.monotonic(), members=self.members)

    def busy(self, device: Device) -> tuple[bool | None, str | None]:
        """Return whether others use the device, None if it can't be told, and a sentence on it."""
        if device.kind == "cpu":
            others = self.others_at_start_up
            if others is None:
                return None, "whether others use the CPUs isn't known: /proc/stat can't be read"
            used = f"other processes kept {others:.1f} CPUs busy while this pass started up"
            return others > BUSY_CPUS, used
        found = [in_use(one) for one in self.on_devices]
        for answer in (True, None):
            told = [sentence for used, sentence in found if used is answer]
            if told:
                return answer, "; ".join(told)
        return False, None

    def start(self, cards: Sequence[Mapping[str, Any]]) -> None:
        """Read the state just before the clock starts; `cards` are the GPUs of the pass."""
        self.cards = cards
        self.values = {
            "cpus_used_by_others_at_start_up": self.others_at_start_up,
            "load_average_1min": round(os.getloadavg()[0], 2),
            "devices_at_start_up": self.on_devices,
            "cards_before": self._states(),
        }
        self.first = self._cpu_times()

    def _states(self) -> list[dict[str, Any] | None]:
        return [gpu_state(card["kind"], card["uuid"]) for card in self.cards]

    def stop(self, elapsed_s: float) -> dict[str, Any]:
        """Read the state just after the clock stopped and return all readings.

        Energy is that of each card from just before the span, of `elapsed_s` seconds, to just
        after it; on a CPU the one answer is why there is none.
        """
        after = self._states()
        last = self._cpu_times()
        ends = list(zip(self.values["cards_before"], after, strict=True)) or [(None, None)]
        return {
            **self.values,
            "cpus_used_by_others": used_by_others(self.first, last),
            "cpus_stolen": stolen(self.first, last),
            "cards_after": after,
            "energy": [energy(before, then, elapsed_s) for before, then in ends],
            "throttled": sorted({one for pair in ends for one in throttling(*pair, elapsed_s)}),
        }
