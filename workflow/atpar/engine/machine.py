"""What machine this is, in a few reads: cheap enough for every parse of the workflow.

A driver, card or processor that changed must inspect the offer again, and Snakemake can't see
one; so the rule's params carry this digest.
"""

from pathlib import Path

from atpar.canonical import digest

SIGNS = (
    "proc/driver/nvidia/version",
    "proc/driver/nvidia/gpus/*/information",
    "sys/module/amdgpu/version",
    "sys/class/kfd/kfd/topology/nodes/*/gpu_id",
)


def machine_digest(root: Path = Path("/")) -> str:
    """Return a digest of the machine's processor and GPU drivers."""
    found = [
        f"{path.relative_to(root)}: {path.read_text(errors='replace')}"
        for pattern in SIGNS
        for path in sorted(root.glob(pattern))
    ]
    return digest([*found, _processor(root)])[:16]


def _processor(root: Path) -> str:
    try:
        lines = (root / "proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.lower().startswith("model name")), "")
