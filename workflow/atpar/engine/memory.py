"""Memory of the host process. Device memory is read through `devices`.

Scopes are kept apart and never added: `peak_host_rss_start_up_bytes` covers the worker from
its start to the measured span, `peak_host_rss_measured_bytes` the span alone, from the level
reached before it.
"""

from pathlib import Path

PROC = Path("/proc")


def peak_rss_bytes(proc: Path = PROC) -> int | None:
    """Return this process's peak resident set size in bytes since the last reset, or None."""
    try:
        for line in (proc / "self" / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def reset_peak_rss(proc: Path = PROC) -> bool:
    """Set the peak back to the present size; False where the kernel doesn't let us."""
    try:
        (proc / "self" / "clear_refs").write_text("5")
    except OSError:
        return False
    return True
