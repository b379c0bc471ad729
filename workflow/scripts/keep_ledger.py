"""Keep the ledger and the balance of every measured offer."""

from atpar.money.keep import keep_ledger
from atpar.stage import stage

with stage(snakemake) as settings:
    keep_ledger(
        summary=snakemake.input.summary,
        deliverables=snakemake.input.deliverables,
        attempts=snakemake.input.attempts,
        windows=snakemake.input.windows,
        tariffs=list(snakemake.input.tariffs),
        expenses=snakemake.input.expenses,
        ledger=snakemake.output.ledger,
        balance=snakemake.output.balance,
        packages=snakemake.output.packages,
        focus=snakemake.output.focus,
        campaign=settings["campaign"],
        offers=settings["offers"],
        expected=settings["expected"],
        currency=settings["currency"],
        rates=settings["rates"],
        price_age_days=settings["price_age_days"],
    )
