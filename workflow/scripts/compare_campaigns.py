"""Set this campaign beside the one that it follows."""

from pathlib import Path

from atpar.decision.follows import compare_campaigns
from atpar.stage import stage

with stage(snakemake) as settings:
    output = Path(snakemake.output.table)
    compare_campaigns(Path(settings["before"]), output.parent, output)
