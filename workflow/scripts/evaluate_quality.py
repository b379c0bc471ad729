"""Evaluate the quality of all repetitions of an option and give the verdicts."""

from pathlib import Path

from atpar.quality.evaluate import evaluate_option
from atpar.stage import stage

with stage(snakemake) as settings:
    evaluate_option(
        checks=Path(snakemake.input.checks),
        predictions=[Path(path) for path in snakemake.input.predictions],
        reference_checks=Path(snakemake.input.reference_checks),
        reference_predictions=[Path(path) for path in snakemake.input.reference_predictions],
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        output=Path(snakemake.output.quality),
        protocol=settings["protocol"],
    )
