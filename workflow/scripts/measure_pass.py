"""Make one attempt at a pass, in a worker process of its own."""

from pathlib import Path

from atpar.engine.job import Inputs
from atpar.engine.supervisor import Pass, measure_pass
from atpar.stage import stage

with stage(snakemake) as settings:
    record = Path(snakemake.output.record)
    measure_pass(
        Pass(
            settings=settings,
            inputs=Inputs(**{name: str(path) for name, path in snakemake.input.items()}),
            repetition=int(snakemake.wildcards.repetition),
            place={name: snakemake.resources[name] for name in ("rank", "round", "position")},
            results=record.parents[3],
            record=record,
            predictions=Path(snakemake.output.predictions),
            lock_folder=snakemake.config.get("lock_folder"),
        )
    )
