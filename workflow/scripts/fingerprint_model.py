"""Check the model and fingerprint it."""

import sys
from pathlib import Path

from atpar.model.fingerprint import fingerprint_model
from atpar.stage import stage

with stage(snakemake) as settings:
    found = fingerprint_model(
        files=[Path(path) for path in snakemake.input.files],
        tokenizer=Path(snakemake.input.tokenizer),
        tokenizer_settings=Path(snakemake.input.tokenizer_settings),
        source=settings["path"] or settings["hub"],
        revision=settings["revision"],
        labels=settings["labels"],
        head=settings["head"],
        trust_remote_code=settings["trust_remote_code"],
        allow_pickle=settings["allow_pickle"],
        fingerprint=Path(snakemake.output.fingerprint),
    )
    for note in found["notes"]:
        print(f"model: {note}", file=sys.stderr)
