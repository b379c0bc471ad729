"""The checklist before a rental [P40], filled with what is known; what isn't stays open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from atpar.config.offers import Offer
from atpar.money.calculator import Tariff, count_gpus, to_cents


@dataclass(frozen=True)
class Point:
    """One point; `answer` None is still to be asked."""

    name: str
    answer: str | None
    source: str = ""
    ask: str = ""

    def line(self) -> str:
        """Return the point as a line of Markdown."""
        if self.answer is None:
            return f"- [ ] {self.name}: {self.ask or 'ask the provider'}"
        return f"- [x] {self.name}: {self.answer}" + (f" ({self.source})" if self.source else "")


def checklist_points(
    offer: Offer,
    tariff: Tariff | None,
    environment: Mapping[str, Any] | None,
    needs: Mapping[str, str | None],
    software: Mapping[str, str],
) -> list[tuple[str, list[Point]]]:
    """Return the points in groups.

    `environment` is what was read on the rented machine (None before it is rented), `needs` what
    the campaign needs: `memory`, `window`, `deadline`. Nothing is concluded from a card's name.
    """
    machine = environment or {}
    return [
        ("Hardware", _hardware(offer, tariff, machine, needs)),
        ("Place and network", _place(offer, tariff)),
        ("Image and software", _software(machine, software)),
        ("Stock and time", _stock(tariff, needs)),
        ("Price and billing", _billing(offer, tariff)),
        ("Data and support", _data(offer, tariff)),
    ]


def _hardware(offer, tariff, machine, needs) -> list[Point]:
    device = machine.get("device") or {}
    cards = None if tariff is None else count_gpus(offer.lots * tariff.gpus_per_lot)
    seen = "read on the machine"
    memory = machine.get("memory_bytes")
    return [
        Point("GPU model", _gpu(device) or offer.gpu, seen if device else "offers table"),
        Point("GPU count", cards, "tariff" if cards else "", "how many cards does a lot hold?"),
        Point("GPU memory", _size(device.get("memory_bytes")), seen, "ask; a lot's price says "
              "nothing of it" + _needed(needs.get("memory"))),
        Point("interconnect between cards", device.get("interconnect"), seen),
        Point("CPU", _cpu(machine.get("cpu") or {}), seen, "model and cores"),
        Point("memory of the machine", _size(memory), seen),
        Point("disk", _disk(tariff), "tariff", "size and kind"),
    ]  # fmt: skip


def _gpu(device: Mapping[str, Any]) -> str | None:
    """Return the GPU's name, or that the machine has none: what was rented may not be there."""
    if device.get("kind") == "cpu":
        return "none was found, so passes run on the CPU"
    return device.get("name")


def _cpu(cpu: Mapping[str, Any]) -> str | None:
    if not cpu.get("name") or not cpu.get("logical"):
        return cpu.get("name")
    return f"{cpu['name']}, {cpu.get('usable')} of {cpu['logical']} logical CPUs usable"


def _needed(memory: str | None) -> str:
    return f"; the model's weights alone take {memory}" if memory else ""


def _size(count: int | None) -> str | None:
    return None if count is None else f"{count / 2**30:.1f} GiB"


def _disk(tariff: Tariff | None) -> str | None:
    if tariff is None or tariff.disk_included_gb is None:
        return None
    return f"{tariff.disk_included_gb} GB included"


def _place(offer: Offer, tariff: Tariff | None) -> list[Point]:
    region = offer.region or (tariff.region if tariff else None)
    return [
        Point("region", region, "offers table" if offer.region else "tariff"),
        Point("network: speed, public address, firewall", None),
    ]


def _software(machine: Mapping[str, Any], software: Mapping[str, str]) -> list[Point]:
    versions = machine.get("software") or {}
    seen = "read on the machine"
    wanted = ", ".join(f"{name} {version}" for name, version in software.items())
    return [
        Point("image", None, ask="which image, and can it be pinned?"),
        Point("driver", machine.get("driver"), seen, "read it on the machine before any pass"),
        Point(
            "software versions",
            ", ".join(f"{name} {version}" for name, version in versions.items()) or None,
            seen,
            f"the lock installs {wanted}" if wanted else "",
        ),
    ]


def _stock(tariff: Tariff | None, needs: Mapping[str, str | None]) -> list[Point]:
    lead = None if tariff is None or tariff.lead_time_h is None else f"{tariff.lead_time_h} h"
    return [
        Point("in stock for the window", None, ask="ask on the day; a catalogue doesn't say"),
        Point("lead time", lead, "tariff"),
        Point("window needed", needs.get("window"), "calendar"),
        Point("deadline", needs.get("deadline"), "protocol", "none is stated"),
    ]


def _billing(offer: Offer, tariff: Tariff | None) -> list[Point]:
    if tariff is None:
        return [Point("price", None, ask="no tariff file has a price for it")]
    points = [Point("price", _price(offer, tariff), f"{tariff.source}, {tariff.priced_on}")]
    tax = {"yes": "included", "no": "not included"}.get(tariff.tax_included or "")
    points.append(Point("tax", tax, "tariff"))
    if tariff.billing == "package":
        points += [
            Point("billing", "the whole package, whatever of it is used"),
            Point("at expiry", tariff.after_expiry, "tariff", "what happens when it ends?"),
        ]
        return points
    step = f"{tariff.step_s} s" if tariff.step_s is not None else None
    least = f"{tariff.minimum_s} s" if tariff.minimum_s is not None else None
    stopped = tariff.stopped_per_hour
    return [
        *points,
        Point("billing starts", tariff.billed_from, "tariff", "at order, boot, or when ready?"),
        Point("billing ends", tariff.billed_until, "tariff", "at shutdown, stop, or release?"),
        Point("rounding", step, "tariff", "billed by the second, minute, or hour?"),
        Point("least that is billed", least, "tariff", "is there a minimum?"),
        Point(
            "price while stopped",
            None if stopped is None else _hourly(stopped * offer.lots, offer, tariff),
            "tariff",
        ),
    ]


def _price(offer: Offer, tariff: Tariff) -> str:
    if tariff.billing == "package":
        total = to_cents(tariff.lot_price * offer.lots)
        return f"{total} {tariff.currency} for {_lots(offer)}, {tariff.term_days:f} days"
    return _hourly(tariff.lot_price * offer.lots, offer, tariff)


def _hourly(price: Decimal, offer: Offer, tariff: Tariff) -> str:
    return f"{price} {tariff.currency} an hour for {_lots(offer)}"


def _lots(offer: Offer) -> str:
    return f"{offer.lots} lot{'s' * (offer.lots != 1)}"


def _data(offer: Offer, tariff: Tariff | None) -> list[Point]:
    storage = None if tariff is None else tariff.storage_per_gb_month
    egress = None if tariff is None else tariff.egress_per_gb
    currency = "" if tariff is None else tariff.currency
    return [
        Point("does data go with the instance?", None, ask="what survives stop, and release?"),
        Point("disk needed", _gb(offer.storage_gb), "offers table", "state storage_gb"),
        Point("price of disk", _rate(storage, currency, "GB and month"), "tariff"),
        Point("data to fetch", _gb(offer.egress_gb), "offers table", "state egress_gb"),
        Point("price of transfer out", _rate(egress, currency, "GB"), "tariff"),
        Point("support: hours, channel, what is refunded", None),
    ]


def _gb(text: str | None) -> str | None:
    return None if text is None else f"{text} GB"


def _rate(price: Any, currency: str, unit: str) -> str | None:
    return None if price is None else f"{price} {currency} per {unit}"


def render_checklist(offer: str, groups: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """Return one offer's checklist as Markdown."""
    points = [point for _, group in groups for point in group]
    known = sum(point.answer is not None for point in points)
    lines = [f"## {offer}", "", f"{known} of {len(points)} points are known."]
    for title, group in groups:
        lines += ["", f"### {title}", "", *(point.line() for point in group)]
    return "\n".join(lines) + "\n"
