"""Check the predictions of all repetitions of an option against the expected identifiers."""

from pathlib import Path

from atpar.quality.check import check_option
from atpar.stage import stage

with stage(snakemake):
    check_option(
        records=[Path(path) for path in snakemake.input.records],
        predictions=[Path(path) for path in snakemake.input.predictions],
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        corpus=Path(snakemake.input.corpus),
        seal=Path(snakemake.input.seal),
        output=Path(snakemake.output.checks),
    )
