"""Search an option of a variant on tuning entries and propose variants."""

from pathlib import Path

from atpar.engine.job import Inputs
from atpar.stage import stage
from atpar.tune.run import Tuning, tune_option

with stage(snakemake) as settings:
    files = {name: str(path) for name, path in snakemake.input.items() if name != "tuning"}
    proposal = Path(snakemake.output.proposal)
    tune_option(
        Tuning(
            settings=settings,
            inputs=Inputs(corpus="", corpus_fingerprint="", seal="", **files),
            tuning=Path(snakemake.input.tuning),
            folder=proposal.parent,
            lock_folder=snakemake.config.get("lock_folder"),
        ),
        trials=Path(snakemake.output.trials),
        proposal=proposal,
    )
    print(f"{proposal}:\n{proposal.read_text(encoding='utf-8')}")
