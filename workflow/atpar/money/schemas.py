"""Schemas of the money room's tables: the documentation of their columns."""

import pandera.pandas as pa

from atpar.money.tables import AMOUNT, CURRENCY, NUMBER, TRUTH, column

LEDGER = pa.DataFrameSchema(
    {
        "offer": column("the offer that spends"),
        "variant": column("the variant it is for; empty: shared by the offer's", missing=True),
        "item": column("the expense; all parts of one rental start with `rental:`"),
        "quantity": column("how much of the unit", NUMBER, missing=True),
        "unit": column("h, lot-h, GB, GB-month or the expense's own", missing=True),
        "unit_price": column("price of one unit, in the source's currency", NUMBER, missing=True),
        "unit_price_currency": column("the source's currency", CURRENCY, missing=True),
        "amount": column("amount; empty: not known (a gap), never 0", AMOUNT, missing=True),
        "currency": column("currency of the amount", CURRENCY),
        "amount_reason": column("why there is no amount", missing=True),
        "grounds": column("why it is paid, and how it was computed", missing=True),
        "source": column("where the price comes from, with its date", missing=True),
        "definition": column("version of the definition", NUMBER),
    },
    checks=pa.Check(
        lambda table: table["amount"].notna() | table["amount_reason"].notna(),
        error="a row without an amount states its reason",
    ),
    strict=True,
)

BALANCE = pa.DataFrameSchema(
    {
        "offer": column("the offer"),
        "variant": column("the variant"),
        "deliverables_expected": column("deliverables defined before [P33]", NUMBER),
        "deliverables_accepted": column("of these, finished and accepted [P34]", NUMBER),
        "engaged_amount": column("rental in whole, and expenses", AMOUNT, missing=True),
        "currency": column("currency of the amounts", CURRENCY),
        "engaged_reason": column("what is missing or doubtful in the amount", missing=True),
        "unknown_items": column("items that the amount lacks, parted by `; `", missing=True),
        "cost_per_deliverable": column("engaged / accepted [P30]", AMOUNT, missing=True),
        "cost_per_deliverable_reason": column("why it is undefined", missing=True),
        "cost_per_million_entries": column("per million entries accepted", AMOUNT, missing=True),
        "cost_per_million_entries_reason": column("why there is none", missing=True),
        "billing": column("package or hourly", pa.Check.isin(["package", "hourly"])),
        "package_term_days": column("days of the packages engaged", NUMBER, missing=True),
        "window_h": column("hours from preparation to the last file fetched [P26]", NUMBER),
        "package_h": column("hours of the packages engaged", NUMBER, missing=True),
        "unused_h": column("paid hours outside the window", NUMBER),
        "covers_window": column("does what is engaged cover the window? [P28]", TRUTH),
        "shared_with": column("other options of the same rental, `offer/variant`", missing=True),
        "definition": column("version of the definition", NUMBER),
    },
    checks=[
        pa.Check(
            lambda table: (
                table["cost_per_deliverable"].notna() | table["cost_per_deliverable_reason"].notna()
            ),
            error="an undefined cost states its reason",
        ),
        pa.Check(
            lambda table: (
                ~((table["deliverables_accepted"] == "0") & table["cost_per_deliverable"].notna())
            ),
            error="nothing accepted has no cost per deliverable",
        ),
    ],
    unique=["offer", "variant"],
    strict=True,
)

PACKAGES = pa.DataFrameSchema(
    {
        "offer": column("the offer"),
        "kind": column(
            "engaged, candidate or alternative",
            pa.Check.isin(["engaged", "candidate", "alternative"]),
        ),
        "billing": column("package or hourly", missing=True),
        "term_days": column("days of the package", NUMBER, missing=True),
        "amount": column("what the offer's lots cost, stopped time included", AMOUNT, missing=True),
        "currency": column("currency of the tariff", CURRENCY, missing=True),
        "unused_h": column("paid hours outside the window", NUMBER, missing=True),
        "text": column("the same in words"),
        "definition": column("version of the definition", NUMBER),
    },
    strict=True,
)

COUNT = pa.Check.str_matches(r"^\d+$", title="whole number")

TARIFFS = pa.DataFrameSchema(
    {
        "provider": column("who rents it out, as the offers table names it"),
        "gpu": column("GPU name, as the offers table has it; case, spaces, _ and - don't matter"),
        "gpus_per_lot": column(
            "cards in one lot or instance",
            pa.Check.str_matches(r"^[1-9]\d*$", title="whole number"),
        ),
        "billing": column(
            "a whole package, or running hours", pa.Check.isin(["package", "hourly"])
        ),
        "term_days": column("package: its days; hourly: empty", NUMBER, missing=True),
        "price": column(
            "what is paid for the package, or for one running hour",
            pa.Check.str_matches(r"^\d+(\.\d+)?$", title="number"),
        ),
        "price_per": column(
            "what the price buys: a lot, an instance (a lot that is one machine), or one card, of "
            "which a lot holds `gpus_per_lot`",
            pa.Check.isin(["lot", "instance", "gpu"]),
        ),
        "currency": column("currency of every price in the row", CURRENCY),
        "step_s": column(
            "hourly: seconds that running time is rounded up to; empty: exact", COUNT, missing=True
        ),
        "minimum_s": column("hourly: least seconds billed; empty: none", COUNT, missing=True),
        "billed_from": column(
            "hourly: what starts billing", pa.Check.isin(["order", "boot", "ready"]), missing=True
        ),
        "billed_until": column(
            "hourly: what ends billing",
            pa.Check.isin(["shutdown", "stop", "release"]),
            missing=True,
        ),
        "stopped_per_hour": column(
            "hourly: price of a stopped lot for an hour", NUMBER, missing=True
        ),
        "setup_h": column("hours of a package lost at its start", NUMBER, missing=True),
        "end_margin_h": column("hours of a package lost at its end", NUMBER, missing=True),
        "lead_time_h": column("hours from order to access", NUMBER, missing=True),
        "min_lots": column("fewest lots rented", COUNT, missing=True),
        "max_lots": column("most lots rented", COUNT, missing=True),
        "disk_included_gb": column("disk in the price, for the whole rental", NUMBER, missing=True),
        "storage_per_gb_month": column("price of further disk (730 h)", NUMBER, missing=True),
        "egress_included_gb": column(
            "transfer out in the price, for the whole rental", NUMBER, missing=True
        ),
        "egress_per_gb": column("price of further transfer out", NUMBER, missing=True),
        "tax_included": column("is tax in the price?", pa.Check.isin(["yes", "no"]), missing=True),
        "after_expiry": column("what happens when a package ends", missing=True),
        "region": column("where; tells prices of one article apart", missing=True),
        "sku": column("the provider's article; tells prices of one GPU apart", missing=True),
        "priced_on": column(
            "date of the price", pa.Check.str_matches(r"^\d{4}-\d\d-\d\d$", title="date")
        ),
        "source": column("catalogue, page or file it was read from"),
        "notes": column("anything else", missing=True),
    },
    strict=True,
)
"""A tariff file below its dialect line; `atpar.money.calculator` reads it row by row."""
