"""Check that model, corpus and protocol speak of the same answers; tell what variants will cut.

A metric of one's own is imported too: that it can't be would else show once passes are paid for.
"""

import json
import sys
from pathlib import Path

from atpar.engine.foreseen import truncation_notes
from atpar.model.fits import check_protocol
from atpar.model.labels import check_labels
from atpar.quality.own import check_own_metrics
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
    check_own_metrics([settings["protocol"]["metric"], *settings["protocol"]["metrics"]])
    notes = truncation_notes(
        reference=Path(snakemake.input.reference),
        fingerprint=Path(snakemake.input.fingerprint),
        tokenizer_settings=Path(snakemake.input.tokenizer_settings),
        max_lengths=json.loads(snakemake.resources.max_lengths),
    )
    for note in notes:
        print(f"variants: {note}", file=sys.stderr)
