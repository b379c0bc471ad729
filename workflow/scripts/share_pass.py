"""Pack one pass with all its attempts for the shared storage."""

from pathlib import Path

from atpar.carry.export import export_pass
from atpar.stage import stage

with stage(snakemake) as settings:
    wildcards = snakemake.wildcards
    export_pass(
        Path(snakemake.input.record).parents[3],
        settings["campaign"],
        wildcards.offer,
        wildcards.variant,
        int(wildcards.repetition),
        Path(snakemake.output.archive),
    )
