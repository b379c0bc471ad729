"""`atpar decision RESULTS`: the decision in a few lines, and where the report is."""

import argparse
from pathlib import Path

from atpar.decision.speak import decision_lines
from atpar.errors import AtparError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the campaign's folder."""
    parser.add_argument("results", type=Path, help="the campaign's folder, such as results/demo")


def run(arguments: argparse.Namespace) -> int:
    """Print the decision."""
    decision = arguments.results / "decision.json"
    if not decision.exists():
        raise AtparError(f"{decision}: no such file; run snakemake for that campaign first")
    print("\n".join(decision_lines(decision)))
    report = arguments.results / "report.html"
    if report.exists():
        print(f"\nReport: {report}")
    return 0
