"""Read from the machine what it really is."""

import json
from pathlib import Path

from atpar.engine.environment import inspect_offer
from atpar.engine.identify import Card
from atpar.stage import stage

with stage(snakemake) as settings:
    inspect_offer(
        settings["offer"],
        Path(snakemake.output.environment),
        card=Card(**json.loads(snakemake.resources.card)),
        corpus=snakemake.resources.corpus,
        network=snakemake.resources.network or None,
        code=settings["code"],
    )
