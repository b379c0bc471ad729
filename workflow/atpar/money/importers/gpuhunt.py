"""gpuhunt's CSV catalogues: hourly, per instance, one file a provider (named in the file's name).

Version 2 has the columns instance_name, location, price, cpu, memory, gpu_count, gpu_name,
gpu_memory, spot, disk_size, gpu_vendor, flags, cpu_arch and provider_data; older files lack the
vendor and what follows. How running time is rounded isn't in them, so it stays unknown.
"""

from pathlib import Path

from atpar.errors import AtparError
from atpar.money.calculator import Tariff
from atpar.money.importers.common import Imported, Origin, amount, count, read_csv

NEEDED = ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot")
TRUTH = {"true": True, "false": False, "1": True, "0": False}


def import_gpuhunt(path: Path, origin: Origin, provider: str | None = None) -> Imported:
    """Read a catalogue; `provider` where the file isn't named for it. Spot prices say so."""
    found = Imported()
    for line, row in read_csv(path, NEEDED):
        where = f"{path}, line {line}"
        cards = count(row["gpu_count"] or "0", where, "gpu_count")
        if cards == 0:
            found.leave_out("no GPU")
            continue
        if not row["gpu_name"] or not row["price"]:
            raise AtparError(f"{where}: gpu_name or price is empty")
        if row["spot"].lower() not in TRUTH:
            raise AtparError(f"{where}: spot is {row['spot']!r}; expected True or False")
        spot = TRUTH[row["spot"].lower()]
        notes = [f"{row[key]} GB {name}" for key, name in EXTRAS if row.get(key)]
        if spot:
            notes.insert(0, "spot: may be taken back at any time")
        found.add(
            Tariff(
                provider=provider or path.stem,
                gpu=row["gpu_name"],
                gpus_per_lot=cards,
                billing="hourly",
                price=amount(row["price"], where, "price"),
                price_per="instance",
                currency="USD",
                priced_on=origin.priced_on,
                source=origin.source,
                region=row["location"] or None,
                sku=row["instance_name"] + (" (spot)" if spot else ""),
                notes="; ".join(notes) or None,
                file=str(path),
                line=line,
            )
        )
    return found


EXTRAS = (
    ("gpu_memory", "GPU memory"),
    ("memory", "memory"),
    ("disk_size", "disk in the catalogue"),
)
