"""The ledger as FOCUS rows (FinOps Open Cost and Usage Specification, 1.x).

A package is a one-time purchase: its row is billed whole, and what its hours went to are usage rows
with an effective cost, the unused tail among them. So the sums of BilledCost and of EffectiveCost
are both the ledger's total. A gap has no amount and isn't exported.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pandera.pandas as pa

from atpar.money.ledger import STORAGE, TRANSFER, UNUSED
from atpar.money.rental import Rental
from atpar.money.tables import AMOUNT, CURRENCY, INSTANT, NUMBER, column

ZERO = Decimal("0.00")
UNITS = {"h": "Hours", "lot-h": "Lot-Hours"}
CATEGORIES = {STORAGE: "Storage", TRANSFER: "Networking"}

FOCUS = pa.DataFrameSchema(
    {
        "BillingAccountId": column("the campaign"),
        "BillingPeriodStart": column("start of the month in which the charge starts", INSTANT),
        "BillingPeriodEnd": column("end of the month in which the charge ends", INSTANT),
        "ChargePeriodStart": column("start of the window", INSTANT),
        "ChargePeriodEnd": column("end of the window", INSTANT),
        "ChargeCategory": column("Purchase or Usage", pa.Check.isin(["Purchase", "Usage"])),
        "ChargeDescription": column("item and grounds"),
        "ChargeFrequency": column(
            "One-Time or Usage-Based", pa.Check.isin(["One-Time", "Usage-Based"])
        ),
        "BilledCost": column("what is paid", AMOUNT),
        "EffectiveCost": column("what it is worth to this line", AMOUNT),
        "ListUnitPrice": column(
            "price of one unit; empty where it is in another currency", NUMBER, missing=True
        ),
        "PricingUnit": column("unit of the price", missing=True),
        "PricingQuantity": column("units priced", NUMBER, missing=True),
        "ConsumedQuantity": column("units used", NUMBER, missing=True),
        "ConsumedUnit": column("unit of what is used", missing=True),
        "BillingCurrency": column("currency of the costs", CURRENCY),
        "CommitmentDiscountStatus": column("Used or Unused, in a package", missing=True),
        "ProviderName": column("who rents it out"),
        "InvoiceIssuerName": column("who bills it"),
        "ServiceCategory": column("Compute, Storage, Networking or Other"),
        "ServiceName": column("the GPU, or the item"),
        "RegionId": column("where", missing=True),
        "SkuId": column("the provider's article", missing=True),
        "ResourceId": column("the offer"),
        "Tags": column("offer, item and variant as JSON"),
    },
    strict=True,
)


def focus_rows(
    ledger: Sequence[Mapping[str, Any]],
    rentals: Mapping[str, Rental],
    windows: Mapping[str, tuple[datetime, datetime]],
    campaign: str,
) -> list[dict[str, Any]]:
    """Return one row for each known amount, and a purchase for each package rental."""
    rows = []
    for name, rental in rentals.items():
        lines = [one for one in ledger if one["offer"] == name and one.get("amount") is not None]
        shares = [one for one in lines if one["item"].startswith("rental:")]
        base = _base(rental, windows[name], campaign)
        package = rental.offer.billing == "package"
        if package and shares:
            rows.append(_purchase(base, rental, shares))
        for line in lines:
            in_package = package and line in shares
            rows.append(_usage(base, rental, line, in_package=in_package))
    return rows


def _base(rental: Rental, window: tuple[datetime, datetime], campaign: str) -> dict[str, Any]:
    start, end = window
    month, last = _month(start), _month(end)
    if last < end.astimezone(UTC) or last == month:
        last = last.replace(year=last.year + last.month // 12, month=last.month % 12 + 1)
    tariff = rental.tariffs[0] if rental.tariffs else None
    return {
        "BillingAccountId": campaign,
        "BillingPeriodStart": _utc(month),
        "BillingPeriodEnd": _utc(last),
        "ChargePeriodStart": _utc(start),
        "ChargePeriodEnd": _utc(end),
        "ProviderName": rental.offer.provider,
        "InvoiceIssuerName": rental.offer.provider,
        "RegionId": tariff.region if tariff else None,
        "SkuId": tariff.sku if tariff else None,
        "ResourceId": rental.offer.offer,
    }


def _month(moment: datetime) -> datetime:
    """Return the start of a moment's month, in UTC."""
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _purchase(base, rental, shares) -> dict[str, Any]:
    currency = shares[0]["currency"]
    listed = len(rental.tariffs) == 1 and rental.currency == currency
    return {
        **base,
        "ChargeCategory": "Purchase",
        "ChargeFrequency": "One-Time",
        "ChargeDescription": f"rental: {rental.grounds}",
        "BilledCost": sum((one["amount"] for one in shares), ZERO),
        "EffectiveCost": ZERO,
        "ListUnitPrice": rental.tariffs[0].lot_price if listed else None,
        "PricingUnit": "Lots",
        "PricingQuantity": str(rental.offer.lots * len(rental.tariffs)),
        "BillingCurrency": currency,
        "ServiceCategory": "Compute",
        "ServiceName": rental.offer.gpu,
        "Tags": _tags(rental, "rental", ""),
    }


def _usage(base, rental, line, *, in_package: bool) -> dict[str, Any]:
    item, variant = line["item"], line["variant"]
    rented = item.startswith("rental:")
    status = ("Unused" if item == UNUSED else "Used") if in_package else None
    unit = UNITS.get(line.get("unit"), line.get("unit"))
    listed = line.get("unit_price_currency") == line["currency"]
    return {
        **base,
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "ChargeDescription": "; ".join(filter(None, (item, line.get("grounds")))),
        "BilledCost": ZERO if in_package else line["amount"],
        "EffectiveCost": line["amount"],
        "ListUnitPrice": line.get("unit_price") if listed else None,
        "PricingUnit": unit,
        "PricingQuantity": line.get("quantity"),
        "ConsumedQuantity": line.get("quantity"),
        "ConsumedUnit": unit,
        "BillingCurrency": line["currency"],
        "CommitmentDiscountStatus": status,
        "ServiceCategory": "Compute" if rented else CATEGORIES.get(item, "Other"),
        "ServiceName": rental.offer.gpu if rented else item,
        "Tags": _tags(rental, "rental" if rented else item, variant),
    }


def _tags(rental: Rental, item: str, variant: str) -> str:
    tags = {"offer": rental.offer.offer, "item": item} | ({"variant": variant} if variant else {})
    return json.dumps(tags, sort_keys=True)


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
