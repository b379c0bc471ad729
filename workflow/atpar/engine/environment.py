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

from atpar.canonical import digest, read_json, write_json
from atpar.engine.compatibility import check_environment
from atpar.engine.cpus import PROC, cgroup_folders, cpu_quota, usable_cpus
from atpar.engine.disk import read_speed
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


def inspect_offer(
    offer: Mapping[str, Any],
    output: Path,
    card: Card | None = None,
    code: str | None = None,
    corpus: str = "",
    network: str | None = None,
) -> None:
    """Write `offers/<offer>/environment.json` for the machine that this runs on.

    Raises AtparError when the offer's device isn't there: a GPU is paid for, so nothing else is
    measured in its place. `card` says which GPUs the offer is; other ones are refused as well.
    `code` is the digest of the code that inspects; `corpus` is a file that is read for the disk's
    speed; `network` is what a person says of it.
    """
    findings = Findings()
    stable = _stable(offer, findings)
    if card is not None:
        check_card(card, stable["device"])
    compatibility = findings.take(
        "compatibility", check_environment(stable), "the table is of AMD's GPUs alone"
    )
    content = {
        **stable,
        "digest": digest(stable),
        # Not of the digest: a reading that is another one each time, and a person's word.
        "disk": findings.take("disk", *read_speed(corpus)),
        "network": findings.take("network", network, "the offers table doesn't state it"),
        "reasons": findings.reasons,
        "compatibility": compatibility,
        "inspected_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_json(output, content if code is None else {**content, "code": code})


def code_that_inspected(environment: Path, offer: Mapping[str, Any], code: str) -> str:
    """Return the code digest that the rule's params keep: `code`, or that of the file as it is.

    Code that was changed inspects nothing again, and so measures nothing again, while it would
    find the same. Light: the machine is looked at only if the file was written by other code.
    """
    try:
        known = read_json(environment)
        if known["code"] == code or known["digest"] != digest(_stable(offer, Findings())):
            return code
        return known["code"]
    except (OSError, ValueError, KeyError, AtparError):
        return code


def _stable(offer: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    """Return what the digest covers: it is the same each time on the same machine."""
    stable = {
        "definition": DEFINITION,
        "offer": offer["offer"],
        "device": _device(offer, findings),
        "cpu": _cpu(findings),
        "memory_bytes": findings.take("memory_bytes", *_memory()),
        "memory_limit_bytes": findings.take(
            "memory_limit_bytes", _memory_limit(), "no control group limits it"
        ),
        "system": {
            "kernel": platform.release(),
            "machine": platform.machine(),
            "distribution": findings.take("system.distribution", *_distribution()),
        },
        "software": {**versions((*COMPUTING, "atpar")), "python": platform.python_version()},
        "torch_build": torch_build().__dict__,
    }
    stable["driver"] = findings.take(
        "driver", stable["device"].pop("driver"), "the pass runs on the CPU"
    )
    return stable


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
    try:
        total = int((PROC / "meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return None, "/proc/meminfo can't be read"
    return min(total, _memory_limit() or total), None


UNLIMITED = 2**60
"""What version 1 of control groups writes for no limit is the largest whole number of pages."""


def _memory_limit() -> int | None:
    """Return the smallest limit in bytes of the control groups of this process, None for none."""
    limits = []
    for folder in cgroup_folders():
        for name in ("memory.max", "memory.limit_in_bytes"):
            try:
                limit = (folder / name).read_text().strip()
            except OSError:
                continue
            if limit.isdigit() and int(limit) < UNLIMITED:
                limits.append(int(limit))
    return min(limits, default=None)


def _distribution() -> tuple[str | None, str | None]:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"], None
    except (OSError, KeyError):
        return None, f"no os-release on {sys.platform}"
