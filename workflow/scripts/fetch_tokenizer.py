"""Fetch the tokenizer's files of a hub revision."""

from pathlib import Path

from atpar.model.hub import fetch_tokenizer
from atpar.stage import stage

with stage(snakemake) as settings:
    fetch_tokenizer(settings["hub"], settings["revision"], Path(snakemake.output.files))
