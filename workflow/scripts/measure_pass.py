"""Make one attempt at a pass, in a worker process of its own."""

import json
from importlib import import_module
from pathlib import Path

from atpar.engine.job import Inputs
from atpar.engine.supervisor import Pass, measure_pass
from atpar.stage import stage

with stage(snakemake) as settings:
    record = Path(snakemake.output.record)
    if snakemake.config.get("money", {}).get("campaign_cap"):
        # By name, so that its code stays out of the pass's digest: the spending cap decides
        # whether a pass starts, never what it measures, and a new price repeats no pass.
        import_module("atpar.calendar.cap").refuse_over_cap(
            snakemake.config, record.parents[3], **dict(snakemake.wildcards.items())
        )
    measure_pass(
        Pass(
            settings=settings,
            inputs=Inputs(**{name: str(path) for name, path in snakemake.input.items()}),
            repetition=int(snakemake.wildcards.repetition),
            place=json.loads(snakemake.resources.place),
            results=record.parents[3],
            record=record,
            predictions=Path(snakemake.output.predictions),
            lock_folder=snakemake.config.get("lock_folder"),
        )
    )
