"""Summarise the passes of each option and count what was delivered."""

from pathlib import Path

from atpar.decision.summary import summarise_passes
from atpar.stage import stage

with stage(snakemake) as settings:
    summarise_passes(
        attempts=Path(snakemake.input.attempts),
        qualities=[Path(path) for path in snakemake.input.qualities],
        summary=Path(snakemake.output.summary),
        deliverables=Path(snakemake.output.deliverables),
        options=settings["options"],
        expected=settings["expected"],
        metric=settings["metric"],
    )
