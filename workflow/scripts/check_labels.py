"""Check that the model can predict every reference label of the corpus."""

from pathlib import Path

from atpar.model.labels import check_labels
from atpar.stage import stage

with stage(snakemake) as settings:
    check_labels(
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        labels=Path(snakemake.output.labels),
    )
