"""Pack what was measured on this node, while it may still be measuring."""

from pathlib import Path

from atpar.carry.export import export_share
from atpar.stage import stage

with stage(snakemake) as settings:
    output = Path(snakemake.output.share)
    export_share(output.parents[1], settings["campaign"], settings["offers"], output)
