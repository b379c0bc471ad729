"""Look ahead: forecast, break-even, and the load that repays deciding."""

from atpar.calendar.outlook import look_ahead
from atpar.stage import stage

with stage(snakemake) as settings:
    look_ahead(
        attempts=snakemake.input.attempts,
        records=list(snakemake.input.records),
        summary=snakemake.input.summary,
        decision=snakemake.input.decision,
        ledger=snakemake.input.ledger,
        windows=snakemake.input.windows,
        reference=snakemake.input.get("reference"),
        model=snakemake.input.model,
        tariffs=list(snakemake.input.tariffs),
        production_tokens=snakemake.input.get("production"),
        forecast_table=snakemake.output.forecast,
        curves_table=snakemake.output.curves,
        outlook=snakemake.output.outlook,
        offers=settings["offers"],
        variants=settings["variants"],
        production=settings["production"],
        usual=settings["usual"],
        currency=settings["currency"],
        rates=settings["rates"],
    )
