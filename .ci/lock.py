"""Resolve requirements.in into requirements.txt, every package pinned to one version."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
             "--report", report, "--requirement", ROOT / "requirements.in"],
            check=True,
        )  # fmt: skip
        resolved = json.loads(report.read_text())["install"]
    # A local version such as 2.13.0+cpu names one build; the lock names the release, so that each
    # platform takes its own build. What one build of torch drags in (CUDA libraries) is its to pin.
    pins = {
        item["metadata"]["name"].lower(): item["metadata"]["version"].partition("+")[0]
        for item in resolved
        if not item["metadata"]["name"]
        .lower()
        .startswith(("nvidia-c", "nvidia-n", "triton", "cuda"))
    }
    lines = [f"{name}=={version}" for name, version in sorted(pins.items())]
    header = "# The lock, for pip and conda alike. Made from requirements.in by `make lock`."
    (ROOT / "requirements.txt").write_text("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main()
