"""Fetch configuration and weights of a hub revision."""

from pathlib import Path

from atpar.config.model import ModelSource
from atpar.model.hub import fetch_model
from atpar.stage import stage

with stage(snakemake) as settings:
    fetch_model(ModelSource(**settings["source"]), Path(snakemake.output.files))
