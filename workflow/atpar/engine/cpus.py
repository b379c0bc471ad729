"""How many CPUs this process may really use, and what others use of them."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
PROC = Path("/proc")
SHORTEST_S = 0.2
"""The kernel counts in ticks of 1/100 s: over less than this they tell nothing."""


def usable_cpus(affinity: int | None = None, cgroup: Path = CGROUP, proc: Path = PROC) -> int:
    """Return the number of CPUs that affinity and the control group's quota leave, at least 1.

    A quota of 1.5 CPUs gives 1: two threads on one and a half CPUs wait for each other.
    """
    if affinity is None:
        affinity = len(os.sched_getaffinity(0))
    quota = cpu_quota(cgroup, proc)
    return affinity if quota is None else max(1, min(affinity, math.floor(quota)))


def cpu_quota(cgroup: Path = CGROUP, proc: Path = PROC) -> float | None:
    """Return the smallest CPU quota of this process's control groups, None without one."""
    quotas = [quota for folder in cgroup_folders(cgroup, proc) if (quota := _quota(folder))]
    return min(quotas, default=None)


def cgroup_folders(cgroup: Path = CGROUP, proc: Path = PROC) -> list[Path]:
    """Return this process's control group and those above it (version 2; 1: its cpu and memory).

    Inside a container the root of the mounted tree often is the container's own group.
    """
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        lines = []
    tops = {cgroup: [cgroup]}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = [name for name in controllers.split(",") if name in ("cpu", "memory")]
        for root in [cgroup / name for name in names] if controllers else [cgroup]:
            parts = [part for part in path.split("/") if part not in ("", "..")]
            steps = [root.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
            tops.setdefault(root, []).extend(steps)
    return [
        folder for folders in tops.values() for folder in dict.fromkeys(folders) if folder.is_dir()
    ]


def _quota(folder: Path) -> float | None:
    try:
        limit, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if limit in ("max", "-1"):
        return None
    return int(limit) / int(period)


@dataclass(frozen=True)
class CpuTimes:
    """CPU time used on the whole machine and by this pass, in seconds since a fixed start."""

    machine_s: float
    own_s: float
    at_s: float
    stolen_s: float = 0.0
    """Time in which a virtual machine wanted its CPUs and the host gave them to others."""


def cpu_times(at_s: float, proc: Path = PROC, members: Sequence[int] = ()) -> CpuTimes | None:
    """Read the machine's and this pass's CPU time, None where it can't be read.

    The pass is this process, the processes that it has waited for, and the `members` of its crew.
    """
    try:
        fields = (proc / "stat").read_text().splitlines()[0].split()[1:9]
    except (OSError, IndexError):
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields)
    busy = user + nice + system + irq + softirq
    ticks = os.sysconf("SC_CLK_TCK")
    crew = sum(_ticks_of(proc / str(member)) for member in members)
    return CpuTimes(busy / ticks, sum(os.times()[:4]) + crew / ticks, at_s, steal / ticks)


def _ticks_of(process: Path) -> int:
    """Return the CPU time of a process and of those that it has waited for, 0 if it is gone."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))


def stolen(start: CpuTimes | None, stop: CpuTimes | None) -> float | None:
    """Return how many CPUs the host took from this machine on average between two readings."""
    if start is None or stop is None or stop.at_s - start.at_s < SHORTEST_S:
        return None
    return round((stop.stolen_s - start.stolen_s) / (stop.at_s - start.at_s), 3)


def used_by_others(start: CpuTimes | None, stop: CpuTimes | None) -> float | None:
    """Return how many CPUs other processes kept busy on average between two readings.

    Spans below about a second give a coarse figure.
    """
    if start is None or stop is None or stop.at_s - start.at_s < SHORTEST_S:
        return None
    others = (stop.machine_s - start.machine_s) - (stop.own_s - start.own_s)
    return max(0.0, round(others / (stop.at_s - start.at_s), 3))
