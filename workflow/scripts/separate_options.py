"""Find out which options the series tells apart, by the sealed rule."""

from pathlib import Path

from atpar.decision.separate import separate_options
from atpar.stage import stage

with stage(snakemake) as settings:
    separate_options(
        attempts=Path(snakemake.input.attempts),
        table=Path(snakemake.output.table),
        findings=Path(snakemake.output.findings),
        options=settings["options"],
        protocol=settings["protocol"],
        series=settings["series"],
    )
