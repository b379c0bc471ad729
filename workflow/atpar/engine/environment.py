"""What is really on the machine [P8]: read from it, never assumed from a card's name.

No import of torch: its build is read from its version file, devices from the driver's own library.
A field that can't be read is None with its reason.
"""

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atpar.canonical import digest, write_json
from atpar.engine.compatibility import check_environment
from atpar.engine.cpus import PROC, cpu_quota, usable_cpus
from atpar.engine.gpus import nvidia_devices, rocm_devices
from atpar.engine.identify import Card, check_card
from atpar.engine.packages import COMPUTING
from atpar.engine.torch_build import TorchBuild, torch_build
from atpar.errors import AtparError
from atpar.protocol.software import versions

DEFINITION = 1
CPU_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "asimd")


@dataclass
class Findings:
    """Values as they are found, and why others weren't."""

    reasons: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, value: Any, reason: str | None) -> Any:
        """Return `value`; if it is None keep the reason under the field's dotted name."""
        if value is None:
            self.reasons[name] = reason or "not told by this machine"
        return value


def inspect_offer(offer: Mapping[str, Any], output: Path, card: Card | None = None) -> None:
    """Write `offers/<offer>/environment.json` for the machine that this runs on.

    Raises AtparError when the offer's device isn't there: a GPU is paid for, so nothing else is
    measured in its place. `card` says which GPUs the offer is; other ones are refused as well.
    """
    findings = Findings()
    stable = {
        "definition": DEFINITION,
        "offer": offer["offer"],
        "device": _device(offer, findings),
        "cpu": _cpu(findings),
        "memory_bytes": findings.take("memory_bytes", *_memory()),
        "system": {
            "kernel": platform.release(),
            "machine": platform.machine(),
            "distribution": findings.take("system.distribution", *_distribution()),
        },
        "software": {**versions((*COMPUTING, "atpar")), "python": platform.python_version()},
        "torch_build": torch_build().__dict__,
    }
    if card is not None:
        check_card(card, stable["device"])
    stable["driver"] = findings.take(
        "driver", stable["device"].pop("driver"), "the pass runs on the CPU"
    )
    compatibility = findings.take(
        "compatibility", check_environment(stable), "the table is of AMD's GPUs alone"
    )
    write_json(
        output,
        {
            **stable,
            "digest": digest(stable),
            "reasons": findings.reasons,
            "compatibility": compatibility,
            "inspected_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def _device(offer: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    asked, build = offer["device"], torch_build()
    found, reason = ([], "the offer asks for the CPU")
    if asked != "cpu":
        found, reason = _gpus(build)
    if found:
        first = found[0]
        same = sorted({one["name"] for one in found if one["name"]})
        return {
            **first,
            "count": len(found),
            "devices": found,
            "names_differ": len(same) > 1,
        }
    if asked == "cuda":
        raise AtparError(
            f"offer {offer['offer']!r} asks for device cuda, but there is none here: {reason}. "
            "Measure it on its own machine, or set its device to cpu in the offers table"
        )
    for name in ("uuid", "memory_bytes"):
        findings.reasons[f"device.{name}"] = f"the device is the CPU ({reason})"
    return {
        "kind": "cpu",
        "name": _cpu_name() or platform.machine(),
        "uuid": None,
        "memory_bytes": None,
        "count": 1,
        "devices": [],
        "driver": None,
        "names_differ": False,
    }


def _gpus(build: TorchBuild) -> tuple[list[dict[str, Any]], str]:
    """Return the GPUs that the installed torch can use, or why there are none."""
    if build.version is None:
        return [], "torch isn't installed"
    if build.hip:
        return rocm_devices()
    if build.cuda:
        return nvidia_devices()
    return [], f"torch {build.version} is built for the CPU alone"


def _cpu(findings: Findings) -> dict[str, Any]:
    flags = _cpuinfo("flags") or _cpuinfo("Features") or ""
    return {
        "name": findings.take("cpu.name", _cpu_name(), "/proc/cpuinfo names no model"),
        "logical": len(_lines("processor")) or None,
        "usable": usable_cpus(),
        "quota": findings.take("cpu.quota", cpu_quota(), "no quota is set"),
        "features": sorted(set(flags.split()) & set(CPU_FEATURES)),
    }


def _cpu_name() -> str | None:
    return _cpuinfo("model name") or _cpuinfo("Model")


def _cpuinfo(key: str) -> str | None:
    return next(iter(_lines(key)), None)


def _lines(key: str) -> list[str]:
    try:
        text = (PROC / "cpuinfo").read_text()
    except OSError:
        return []
    pairs = (line.partition(":") for line in text.splitlines())
    return [value.strip() for name, _, value in pairs if name.strip() == key]


def _memory() -> tuple[int | None, str | None]:
    """Return the memory in bytes that this process may use: the machine's, or its group's limit."""
    from atpar.engine.cpus import cgroup_folders

    try:
        total = int((PROC / "meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return None, "/proc/meminfo can't be read"
    for folder in cgroup_folders():
        for name in ("memory.max", "memory.limit_in_bytes"):
            try:
                limit = (folder / name).read_text().strip()
            except OSError:
                continue
            if limit.isdigit():
                total = min(total, int(limit))
    return total, None


def _distribution() -> tuple[str | None, str | None]:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"], None
    except (OSError, KeyError):
        return None, f"no os-release on {sys.platform}"
