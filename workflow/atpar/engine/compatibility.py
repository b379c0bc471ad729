"""AMD: is this combination of system, GPU, ROCm and framework one that AMD lists [P8]?

The table says what is listed. What isn't in it is unknown: that is neither a yes nor a no.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atpar.errors import AtparError

TABLE = Path(__file__).resolve().parents[3] / "resources" / "rocm-compatibility.csv"
COLUMNS = ["rocm", "systems", "gpus", "torch", "source", "read_on"]


@dataclass(frozen=True)
class Release:
    """One release of ROCm and what its documentation lists."""

    rocm: str
    systems: tuple[str, ...]
    gpus: tuple[str, ...]
    """Architectures, such as gfx942."""
    torch: tuple[str, ...]
    """Versions of PyTorch as major.minor."""
    source: str
    read_on: str
    """Day on which the source was read."""


def read_releases(path: Path = TABLE) -> dict[str, Release]:
    """Return release -> what is listed for it. AtparError names the line that can't be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise AtparError(f"{path}: no such file; it comes with the repository") from None
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    rows = list(csv.reader([line for _, line in lines]))
    if not rows or rows[0] != COLUMNS:
        raise AtparError(f"{path}: its columns must be {', '.join(COLUMNS)}")
    releases: dict[str, Release] = {}
    for (number, _), cells in zip(lines[1:], rows[1:], strict=True):
        if len(cells) != len(COLUMNS) or not all(cells):
            raise AtparError(f"{path}, line {number}: every one of {len(COLUMNS)} cells is needed")
        rocm, systems, gpus, torch, source, read_on = cells
        if rocm in releases:
            raise AtparError(f"{path}, line {number}: ROCm {rocm} is listed twice")
        releases[rocm] = Release(rocm, *map(_items, (systems, gpus, torch)), source, read_on)
    return releases


def _items(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split(";"))


def check(
    system: str | None,
    gpu: str | None,
    rocm: str | None,
    torch: str | None,
    releases: Mapping[str, Release],
) -> dict[str, Any]:
    """Return `verdict` (listed, not listed, unknown), its `reasons`, and the source.

    `system` as os-release names it, `gpu` as architecture (gfx942), `rocm` and `torch` as installed
    (`6.4.0-47`, `2.9.0+rocm7.1`); None for what the machine doesn't tell.
    """
    number = re.match(r"\d+\.\d+\.\d+", rocm or "")
    release = releases.get(number[0]) if number else None
    if release is None:
        said = f"ROCm {rocm} isn't in the table" if rocm else "the machine tells no ROCm version"
        return {"verdict": "unknown", "reasons": [said], "source": None, "read_on": None}
    unknown, missing = [], []
    parts = (
        ("system", system, _system_listed(system, release.systems), release.systems),
        ("GPU", gpu, gpu in release.gpus, release.gpus),
        ("PyTorch", torch, _minor(torch) in release.torch, release.torch),
    )
    for what, value, listed, known in parts:
        if value is None:
            unknown.append(f"the machine tells no {what}")
        elif not listed:
            missing.append(
                f"{what} {value} isn't listed for ROCm {release.rocm}; listed: {', '.join(known)}"
            )
    verdict = "not listed" if missing else "unknown" if unknown else "listed"
    return {
        "verdict": verdict,
        "reasons": [*missing, *unknown],
        "source": release.source,
        "read_on": release.read_on,
    }


def check_environment(
    environment: Mapping[str, Any], releases: Mapping[str, Release] | None = None
) -> dict[str, Any] | None:
    """Return the check of a machine's environment; None where the device isn't AMD's."""
    device = environment["device"]
    if device["kind"] != "rocm":
        return None
    return check(
        environment.get("system", {}).get("distribution"),
        device.get("gfx"),
        device.get("rocm"),
        environment["software"].get("torch"),
        read_releases() if releases is None else releases,
    )


def _minor(version: str | None) -> str:
    found = re.match(r"\d+\.\d+", version or "")
    return found[0] if found else ""


def _system_listed(system: str | None, known: tuple[str, ...]) -> bool:
    return bool(system) and _plain(system) in map(_plain, known)


def _plain(system: str) -> str:
    """Return a system's name without what os-release adds: `Ubuntu 24.04.2 LTS`, code names."""
    name = system.replace("Red Hat Enterprise Linux", "RHEL").replace(
        "SUSE Linux Enterprise Server", "SLES"
    )
    return re.sub(r"\s*(\(.*?\)|LTS|GNU/Linux|release|Server)", "", name).strip().lower()
