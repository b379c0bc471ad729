"""Check that model, corpus and protocol speak of the same answers; tell what variants will cut."""

import json
import sys
from pathlib import Path

from atpar.engine.foreseen import truncation_notes
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
    notes = truncation_notes(
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        tokenizer_settings=Path(snakemake.input.tokenizer_settings),
        max_lengths=json.loads(snakemake.resources.max_lengths),
    )
    for note in notes:
        print(f"variants: {note}", file=sys.stderr)
