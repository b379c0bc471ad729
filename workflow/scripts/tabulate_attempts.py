"""Tabulate all attempts from the journals, with the verdicts of checks and quality."""

from pathlib import Path

from atpar.decision.attempts import tabulate_attempts
from atpar.stage import stage

with stage(snakemake) as settings:
    tabulate_attempts(
        journals=Path(settings["journals"]),
        records=[Path(path) for path in snakemake.input.records],
        checks=[Path(path) for path in snakemake.input.checks],
        qualities=[Path(path) for path in snakemake.input.qualities],
        exclusions=Path(snakemake.input.exclusions),
        metric=settings["metric"],
        series=settings["series"],
        output=Path(snakemake.output.attempts),
    )
