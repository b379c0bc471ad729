"""Split the corpus into buckets and draw the evaluation sample."""

import sys
from pathlib import Path

from atpar.corpus.entries import Tables
from atpar.corpus.split import split_buckets
from atpar.stage import stage

with stage(snakemake) as settings:
    fingerprint = split_buckets(
        source=Path(snakemake.input.table),
        source_fingerprint=Path(snakemake.input.fingerprint),
        tokenizer=Path(snakemake.input.tokenizer),
        tokenizer_settings=Path(snakemake.input.tokenizer_settings),
        sample=settings["sample"],
        label_map=settings["label_map"],
        empty_text=settings["empty_text"],
        tables=Tables(
            entries=Path(snakemake.output.entries),
            evaluation=Path(snakemake.output.evaluation),
            reference=Path(snakemake.output.reference),
            tuning=Path(snakemake.output.tuning),
        ),
        fingerprint=Path(snakemake.output.fingerprint),
    )
    for note in fingerprint["notes"]:
        print(f"corpus: {note}", file=sys.stderr)
