"""Count the tokens of the real load that a forecast is made for."""

from atpar.calendar.production import measure_production
from atpar.stage import stage

with stage(snakemake) as settings:
    measure_production(
        files=settings["files"],
        columns=settings["columns"],
        dialect=settings["dialect"],
        policy=settings["policy"],
        tokenizer=snakemake.input.tokenizer,
        output=snakemake.output.tokens,
    )
