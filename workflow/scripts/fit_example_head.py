"""Fit the example's classification head and save the model folder."""

from pathlib import Path

from atpar.example.head import fit_model
from atpar.stage import stage

with stage(snakemake) as settings:
    print(
        fit_model(
            wheel=Path(snakemake.input.wheel),
            tokenizer=Path(snakemake.input.tokenizer),
            corpus=Path(snakemake.input.corpus),
            longest=settings["longest_tokens"],
            seed=settings["seed"],
            folder=Path(snakemake.output.weights).parent,
        )
    )
