"""The production load whose saving repays what the campaign itself spends; a forecast."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from atpar.calendar.loads import Pace, hourly_rate, per_million
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff
from atpar.money.ledger import Books

MILLION = 1_000_000


def repaid(
    spent: Decimal,
    paces: Sequence[Pace],
    admissible: set[tuple[str, str]],
    reference: str,
    offers: Mapping[str, Offer],
    tariffs: Mapping[str, Sequence[Tariff]],
    books: Books,
) -> list[dict[str, Any]]:
    """Return, for each admissible option dearer than the cheapest, the load that repays it all.

    Compared are the costs of a million entries while paid time is used up. The reference variant
    is what one would have used without a campaign, so its options come first.
    """
    costs = []
    for pace in paces:
        own = [one for one in tariffs[pace.offer] if one.billing == offers[pace.offer].billing]
        rate = hourly_rate(own, offers[pace.offer].lots, books)
        if (pace.offer, pace.variant) in admissible and rate is not None:
            costs.append((per_million(rate, pace.seconds), pace.offer, pace.variant))
    if not costs:
        return []
    best, best_offer, best_variant = min(costs)
    rows = []
    for cost, offer, variant in sorted(costs, key=lambda one: (one[2] != reference, one)):
        saving = cost - best
        if saving <= 0:
            continue
        load = -(-Fraction(spent) * MILLION // Fraction(saving))
        rows.append(
            {
                "instead_of": f"{offer}/{variant}",
                "chosen": f"{best_offer}/{best_variant}",
                "saving_per_million_entries": str(saving),
                "entries_that_repay": int(load),
                "text": (
                    f"Against {offer}/{variant}, {best_offer}/{best_variant} saves {saving} "
                    f"{books.currency} a million entries, so {int(load):,} entries repay the "
                    "campaign (forecast)."
                ),
            }
        )
    return rows
