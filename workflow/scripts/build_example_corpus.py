"""Build the example's corpus and hold part of it out for evaluation."""

from pathlib import Path

from atpar.example.texts import build_corpus
from atpar.stage import stage

with stage(snakemake) as settings:
    print(
        build_corpus(
            wheel=Path(snakemake.input.wheel),
            tokenizer=Path(snakemake.input.tokenizer),
            seed=settings["seed"],
            corpus=Path(snakemake.output.corpus),
            licences=Path(snakemake.output.source).parent,
        )
    )
