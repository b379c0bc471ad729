"""Decide from the tables, and say so in full sentences."""

from pathlib import Path

from atpar.decision.decide import decide_from_files
from atpar.decision.flips import read_paid
from atpar.stage import stage

TABLES = (
    "seal",
    "attempts",
    "summary",
    "separation",
    "findings",
    "deliverables",
    "balance",
    "windows",
)

with stage(snakemake) as settings:
    decide_from_files(
        files={
            **{name: Path(snakemake.input[name]) for name in TABLES},
            "environments": [Path(path) for path in snakemake.input.environments],
        },
        decision=Path(snakemake.output.decision),
        text=Path(snakemake.output.text),
        campaign=settings["campaign"],
        planned=settings["planned"],
        repetitions_added=settings["repetitions_added"],
        paid=read_paid(
            ledger=Path(snakemake.input.ledger),
            windows=Path(snakemake.input.windows),
            tariffs=[Path(path) for path in snakemake.input.tariffs],
            **settings["money"],
        ),
    )
