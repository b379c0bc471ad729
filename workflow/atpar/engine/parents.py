"""Ties between Snakemake, supervisor and worker: none outlives the one that it works for."""

import ctypes
import os
import signal
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

PR_SET_PDEATHSIG = 1
PROC = Path("/proc")
SESSION = "ATPAR_SESSION"
"""Environment variable with the name of the run of Snakemake that a job belongs to."""


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent` ends; end now if it already has."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def snakemake_above(proc: Path = PROC) -> int | None:
    """Return the process id of the Snakemake that this process works for, None without one.

    A shell may stand between the two, so that the kernel's parent-death signal wouldn't reach us.
    """
    process = os.getpid()
    while process > 1:
        process = _parent(process, proc)
        if process > 1 and _is_snakemake(process, proc):
            return process
    return None


def is_running(process: int, proc: Path = PROC) -> bool:
    """Tell whether a process exists and isn't a corpse that nobody has waited for."""
    try:
        return (proc / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def session_id(process: int | None, proc: Path = PROC) -> str:
    """Return a name for one run of Snakemake: its start (UTC) and process id.

    Without a Snakemake the name is that of this process. Where a cluster starts a Snakemake for
    each job, the run that sent the job away has left its name in the environment.
    """
    if SESSION in os.environ:
        return os.environ[SESSION]
    process = process or os.getpid()
    ticks = int((proc / str(process) / "stat").read_text().rpartition(")")[2].split()[19])
    booted = next(
        int(line.split()[1])
        for line in (proc / "stat").read_text().splitlines()
        if line.startswith("btime ")
    )
    started = datetime.fromtimestamp(booted + ticks / os.sysconf("SC_CLK_TCK"), UTC)
    return f"{started:%Y%m%dT%H%M%SZ}-{process}"


def _parent(process: int, proc: Path) -> int:
    try:
        return int((proc / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _is_snakemake(process: int, proc: Path) -> bool:
    try:
        arguments = (proc / str(process) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    # A script's own command line only contains the word, as part of a folder's name.
    return any(argument.rsplit(b"/", 1)[-1] == b"snakemake" for argument in arguments[:3])


def allocation_notes(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a note that names the Slurm job this process runs in, none outside of one.

    With it the accounting of the cluster tells how a job ended that left no end of its own.
    """
    job, node = environment.get("SLURM_JOB_ID"), environment.get("SLURMD_NODENAME")
    return [f"Slurm job {job} on node {node}"] if job else []
