"""Load the model's tokenizer once and keep its backend."""

from pathlib import Path

from atpar.model.tokenizer import prepare_tokenizer
from atpar.stage import stage

with stage(snakemake) as settings:
    prepare_tokenizer(
        files=[Path(path) for path in snakemake.input.files],
        pad_token=settings["pad_token"],
        trust_remote_code=settings["trust_remote_code"],
        backend=Path(snakemake.output.backend),
        settings=Path(snakemake.output.settings),
    )
