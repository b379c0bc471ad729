"""SkyPilot's `vms.csv`, versions 7 and 8: hourly, per instance, one folder a cloud.

Columns: InstanceType, vCPUs, MemoryGiB, AcceleratorName, AcceleratorCount, GPUInfo, Region,
AvailabilityZone, Price, SpotPrice, and in version 8 Arch. A row may hold a price on demand, a spot
price, or both.
"""

from pathlib import Path

from atpar.money.calculator import Tariff
from atpar.money.importers.common import Imported, Origin, amount, count, read_csv

NEEDED = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Region", "Price")


def import_skypilot(path: Path, origin: Origin, provider: str | None = None) -> Imported:
    """Read a catalogue; the provider is the folder's name unless `provider` says otherwise."""
    found = Imported()
    for line, row in read_csv(path, NEEDED):
        where = f"{path}, line {line}"
        if not row["AcceleratorName"]:
            found.leave_out("no GPU")
            continue
        cards = row["AcceleratorCount"] or "0"
        if amount(cards, where, "AcceleratorCount") % 1:
            found.leave_out("a part of a GPU")
            continue
        prices = {"": row["Price"], " (spot)": row.get("SpotPrice", "")}
        if not any(prices.values()):
            found.leave_out("no price")
        for suffix, price in prices.items():
            if price:
                found.add(
                    Tariff(
                        provider=provider or path.parent.name,
                        gpu=row["AcceleratorName"],
                        gpus_per_lot=count(cards, where, "AcceleratorCount"),
                        billing="hourly",
                        price=amount(price, where, "SpotPrice" if suffix else "Price"),
                        price_per="instance",
                        currency="USD",
                        priced_on=origin.priced_on,
                        source=origin.source,
                        # Spot prices differ between the zones of a region.
                        region=row.get("AvailabilityZone") or row["Region"] or None,
                        sku=row["InstanceType"] + suffix,
                        notes="spot: may be taken back at any time" if suffix else None,
                        file=str(path),
                        line=line,
                    )
                )
    return found
