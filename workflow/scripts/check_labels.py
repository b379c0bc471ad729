"""Check that model, corpus and protocol speak of the same answers."""

from pathlib import Path

from atpar.model.fits import check_protocol
from atpar.model.labels import check_labels
from atpar.stage import stage

with stage(snakemake) as settings:
    check_labels(
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        labels=Path(snakemake.output.labels),
        label_kind=settings["label_kind"],
    )
    check_protocol(
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        protocol=settings["protocol"],
    )
