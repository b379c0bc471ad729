"""An environment with an optional plugin on top of the one that runs the tests."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALL_S = 300


def python_with(requirements: str, folder: Path) -> Path:
    """Return a Python that has the packages of this one and those of a requirements file.

    The plugins stay out of the lock, since they make every start of Snakemake slower. Skips, with
    pip's own words, where they can't be installed.
    """
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    below = sysconfig.get_path("purelib")
    # `addsitedir` also takes the editable atpar of the environment below.
    Path(packages, "below.pth").write_text(f"import site; site.addsitedir({below!r})\n")
    install(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--requirement", REPOSITORY / requirements],
        requirements,
    )  # fmt: skip
    return python


def install(command: list, what: str) -> None:
    """Run a command that installs `what`, or skip with its own words, or for its slow network."""
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{what} can't be installed: {error.stderr.strip()[-300:]}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} can't be installed: it took more than {INSTALL_S} s")
