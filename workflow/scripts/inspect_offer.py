"""Read from the machine what it really is."""

from pathlib import Path

from atpar.engine.environment import inspect_offer
from atpar.stage import stage

with stage(snakemake) as settings:
    inspect_offer(settings["offer"], Path(snakemake.output.environment))
