"""Read the corpus files as exact text and fingerprint them."""

from pathlib import Path

from atpar.corpus.fingerprint import fingerprint_corpus
from atpar.stage import stage

with stage(snakemake) as settings:
    fingerprint_corpus(
        files=settings["files"],
        columns=settings["columns"],
        dialect=settings["dialect"],
        policy=settings["policy"],
        table=Path(snakemake.output.table),
        fingerprint=Path(snakemake.output.fingerprint),
    )
