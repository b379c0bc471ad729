"""Break-even: the loads at which another option, or another kind of billing, becomes cheapest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from atpar.calendar.loads import Pace, price_of
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff
from atpar.money.ledger import Books

SMALLEST, LARGEST, PER_DECADE = 3, 9, 8
"""Loads from 10^3 to 10^9 entries, eight steps a decade."""


@dataclass(frozen=True)
class Way:
    """One way to do the work: an option under one kind of billing."""

    pace: Pace
    offer: Offer
    tariffs: tuple[Tariff, ...]
    """Prices of one kind of billing."""

    @property
    def billing(self) -> str:
        """`package` or `hourly`."""
        return self.tariffs[0].billing

    @property
    def name(self) -> tuple[str, str, str]:
        """Offer, variant and billing."""
        return self.pace.offer, self.pace.variant, self.billing

    def cost(self, entries: int, books: Books) -> tuple[Decimal, Decimal, Decimal] | None:
        """Return the cost of a load: expected, least and most; None if it can't be rented."""
        prices = [
            price_of(self.tariffs, self.offer.lots, window, books)
            for window in self.pace.rental(entries)
        ]
        return None if None in prices else tuple(price.amount for price in prices)


def ways(
    paces: Sequence[Pace], offers: Mapping[str, Offer], tariffs: Mapping[str, Sequence[Tariff]]
) -> list[Way]:
    """Return each option under each kind of billing that its offer is priced in."""
    return [
        Way(pace, offers[pace.offer], tuple(one for one in tariffs[pace.offer]
                                            if one.billing == billing))
        for pace in paces
        for billing in ("package", "hourly")
        if any(one.billing == billing for one in tariffs[pace.offer])
    ]  # fmt: skip


def loads() -> list[int]:
    """Return the loads of the curves."""
    steps = (LARGEST - SMALLEST) * PER_DECADE
    return [round(10 ** (SMALLEST + step / PER_DECADE)) for step in range(steps + 1)]


def curves(choices: Sequence[Way], books: Books) -> list[dict[str, Any]]:
    """Return cost against load for every way, with its least and most."""
    rows = []
    for way in choices:
        for entries in loads():
            cost = way.cost(entries, books)
            if cost is not None:
                expected, least, most = cost
                offer, variant, billing = way.name
                rows.append(
                    {
                        "offer": offer,
                        "variant": variant,
                        "billing": billing,
                        "entries": entries,
                        "amount": expected,
                        "amount_low": least,
                        "amount_high": most,
                    }
                )
    return rows


def cheapest(choices: Sequence[Way], entries: int, books: Books) -> Way | None:
    """Return the cheapest way for a load; of equally cheap ones the quicker."""
    priced = [(way, way.cost(entries, books)) for way in choices]
    known = [(cost[0], way.pace.rental(entries)[0], way.name, way) for way, cost in priced if cost]
    return min(known, key=lambda one: one[:3])[-1] if known else None


def winners(choices: Sequence[Way], books: Books) -> list[dict[str, Any]]:
    """Return stretches of load with the way that is cheapest in each, and whether it is certain.

    The loads of the curves are searched, and each change between two of them is found to the
    entry; a stretch that lies wholly between two loads can go unseen.
    """
    grid = loads()
    starts: list[tuple[int, Way]] = []
    for low, high in zip([None, *grid], grid, strict=False):
        now = cheapest(choices, high, books)
        if now is None:
            return []
        if not starts:
            starts.append((high, now))
        elif now.name != starts[-1][1].name:
            starts.append((_change(choices, low, high, books), now))
    ends = [start - 1 for start, _ in starts[1:]] + [grid[-1]]
    return [
        _stretch(choices, way, start, end, books)
        for (start, way), end in zip(starts, ends, strict=True)
    ]


def _change(choices: Sequence[Way], low: int, high: int, books: Books) -> int:
    """Return the smallest load above `low` at which what wins at `high` wins."""
    target = cheapest(choices, high, books).name
    while high - low > 1:
        middle = (low + high) // 2
        if cheapest(choices, middle, books).name == target:
            high = middle
        else:
            low = middle
    return high


def _stretch(choices, way: Way, start: int, end: int, books: Books) -> dict[str, Any]:
    """Return one stretch; it is certain if the way stays cheapest at both ends at its dearest."""
    offer, variant, billing = way.name
    certain = all(
        way.cost(entries, books)[2] <= cost[1]
        for entries in (start, end)
        for other in choices
        if other.name != way.name and (cost := other.cost(entries, books)) is not None
    )
    return {
        "from_entries": start,
        "to_entries": end,
        "offer": offer,
        "variant": variant,
        "billing": billing,
        "amount_at_from": way.cost(start, books)[0],
        "certain": certain,
    }
