"""Schemas of the tables that look ahead; every row is labelled a forecast."""

import pandera.pandas as pa

from atpar.money.tables import AMOUNT, CURRENCY, NUMBER, TRUTH, column

DEFINITION = 1
"""Version of how a load's cost is forecast."""
BILLING = pa.Check.isin(["package", "hourly"])
LABEL = pa.Check.eq("forecast")

FORECAST = pa.DataFrameSchema(
    {
        "offer": column("the offer"),
        "variant": column("the variant"),
        "label": column("always `forecast`: no accepted figure [P34]", LABEL),
        "entries": column("entries of the real load", NUMBER),
        "padded_tokens": column("tokens they are padded to by this variant", NUMBER),
        "work_h": column("hours of processing", NUMBER),
        "work_h_low": column("lower end of its interval", NUMBER),
        "work_h_high": column("upper end of its interval", NUMBER),
        "rental_h": column("the same with preparation, start-up and fetching", NUMBER),
        "rental_h_low": column("lower end of its interval", NUMBER),
        "rental_h_high": column("upper end of its interval", NUMBER),
        "method": column("what time was fitted against"),
        "extrapolates": column("are its entries shorter or longer than all measured?", TRUTH),
        "billing": column("package or hourly", BILLING),
        "rented_as": column("package and periods, or hours", missing=True),
        "package_term_days": column("days of one package", NUMBER, missing=True),
        "periods": column("packages one after another", NUMBER, missing=True),
        "amount": column("cost of the whole load", AMOUNT, missing=True),
        "amount_low": column("at the lower end", AMOUNT, missing=True),
        "amount_high": column("at the upper end", AMOUNT, missing=True),
        "cost_per_million_entries": column("amount per million entries", AMOUNT, missing=True),
        "cost_per_million_entries_low": column("at the lower end", AMOUNT, missing=True),
        "cost_per_million_entries_high": column("at the upper end", AMOUNT, missing=True),
        "currency": column("currency of the amounts", CURRENCY),
        "reason": column("why there is no amount", missing=True),
        "definition": column("version of the definition", NUMBER),
    },
    strict=True,
)

CURVES = pa.DataFrameSchema(
    {
        "offer": column("the offer"),
        "variant": column("the variant"),
        "billing": column("package or hourly", BILLING),
        "label": column("always `forecast`", LABEL),
        "entries": column("the load", NUMBER),
        "amount": column("cost of the load", AMOUNT),
        "amount_low": column("at the lower end of the time's interval", AMOUNT),
        "amount_high": column("at its upper end", AMOUNT),
        "currency": column("currency of the amounts", CURRENCY),
        "definition": column("version of the definition", NUMBER),
    },
    strict=True,
)
