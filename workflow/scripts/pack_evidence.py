"""Pack the evidence of the decision into a bag that `atpar verify` can check."""

from pathlib import Path

from atpar.report.evidence import pack_evidence
from atpar.stage import stage

ROLES = ("calendar", "exclusions", "expenses", "tariffs")

with stage(snakemake) as settings:
    written = {role: [Path(path) for path in snakemake.input[role]] for role in ROLES}
    folder = Path(snakemake.output.bag).parent
    pack_evidence(
        folder=folder,
        files=[Path(path) for path in snakemake.input.kept],
        inputs=written,
        output=Path(snakemake.output.bag),
        campaign=settings["campaign"],
        steps=settings["steps"],
        configuration=settings["configuration"],
        software=settings["versions"],
        texts=settings["texts"],
    )
