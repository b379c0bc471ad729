"""Tables in the README of the benchmarks, each between marks of its script."""

import sys
from pathlib import Path

README = Path(__file__).with_name("README.md")


def write_section(script: str, title: str, text: str) -> None:
    """Put `text`, below the command that made it, between the script's marks in the README."""
    mark = f"<!-- {script} -->"
    command = f"`python benchmarks/{script} {' '.join(sys.argv[1:])}`"
    section = f"{mark}\n{command}\n\n{text}\n{mark}"
    before, found, rest = README.read_text(encoding="utf-8").partition(mark)
    after = rest.partition(mark)[2]
    if not found:
        before, after = f"{before.rstrip()}\n\n## {title}\n\n", "\n"
    README.write_text(before + section + after, encoding="utf-8")
