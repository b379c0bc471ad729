"""Seal the protocol with the fingerprints of corpus and reference answers."""

from pathlib import Path

from atpar.protocol.seal import seal_protocol
from atpar.stage import stage

with stage(snakemake) as settings:
    seal_protocol(
        settings["protocol"],
        Path(snakemake.input.fingerprint),
        Path(snakemake.input.evaluation),
        Path(snakemake.output.seal),
        follows=settings["follows"],
    )
