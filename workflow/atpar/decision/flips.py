"""How far things may move before the choice changes, and what making it costs [P35].

From the prices and windows as they stand; nothing here is a forecast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from atpar.calendar.margins import Standing, flip_margins
from atpar.config.load import check
from atpar.config.offers import Offer
from atpar.decision.amounts import name
from atpar.decision.balance import Key, Tables
from atpar.decision.choose import Ranking
from atpar.decision.model import Deciding, Margin
from atpar.decision.words import brief
from atpar.money.calculator import Tariff
from atpar.money.keep import read_rentals
from atpar.money.ledger import Books
from atpar.money.priced import load_tariffs
from atpar.money.rental import Rental
from atpar.money.spent import spent
from atpar.rows import read_rows


@dataclass(frozen=True)
class Paid:
    """What the balance rests on."""

    ledger: Sequence[Mapping[str, str | None]]
    rentals: Mapping[str, Rental]
    tariffs: Sequence[Tariff]
    books: Books


def read_paid(
    ledger: Path,
    windows: Path,
    tariffs: Sequence[Path],
    offers: Sequence[Mapping[str, Any]],
    currency: str,
    rates: Mapping[str, str],
) -> Paid:
    """Read the ledger, and price the rental of each offer that has a window there."""
    rows = read_rows(ledger, ["offer", "item", "amount"])
    measured = {row["offer"] for row in rows}
    chosen = [check(Offer, dict(one), "offers table") for one in offers]
    prices = load_tariffs(tariffs)
    rentals = read_rentals(windows, [one for one in chosen if one.offer in measured], prices)
    return Paid(rows, rentals, prices, Books(currency, dict(rates)))


def margins(tables: Tables, ranking: Ranking, paid: Paid) -> list[Margin]:
    """Return the flip margins of the leading option; none without one."""
    if not ranking.leading:
        return []
    standings = {
        key: Standing(
            *key,
            Decimal(tables.balance[key]["engaged_amount"]),
            _lowest(tables, key),
        )
        for key in ranking.ranked
    }
    best = ranking.leading[0]
    found = flip_margins(
        standings[best],
        [one for key, one in standings.items() if key != best],
        paid.rentals,
        paid.tariffs,
        paid.books,
        # Each deliverable is judged for itself, and the tables hold values of whole passes.
        tables.protocol["minimum"] if tables.protocol["deliverable_column"] is None else None,
    )
    made = [
        Margin(sentence=one["text"], **{key: one[key] for key in one if key != "text"})
        for one in found
    ]
    return made if ranking.tied else [*made, *_pass_margin(tables, best, standings)]


def _lowest(tables: Tables, option: Key) -> float | None:
    """Return the main metric of the worst pass that counts: each one has to reach the minimum."""
    values = [row["metric_value"] for row in tables.counted(option)]
    return min((float(value) for value in values if value), default=None)


def _pass_margin(tables: Tables, best: Key, standings: Mapping[Key, Standing]) -> list[Margin]:
    """Return how much slower the choice may get before another one as good otherwise is quicker.

    Cost and failures come before durations, so only options of equal ones are compared.
    """
    failures = tables.summary[best]["failures"]
    medians = {
        key: float(tables.summary[key]["median_s"])
        for key, one in standings.items()
        if one.engaged == standings[best].engaged and tables.summary[key]["failures"] == failures
    }
    rest = {key: median for key, median in medians.items() if key != best}
    if not rest:
        return []
    rival = min(rest, key=rest.__getitem__)
    gap = rest[rival] - medians[best]
    if gap <= 0:
        return []
    return [
        Margin(
            what="pass",
            offer=best[0],
            against=name(rival),
            margin=f"{gap:.6f}",
            unit="s",
            sentence=(
                f"The median of {name(best)} may grow by {brief(gap)} "
                f"({100 * gap / medians[best]:.0f} %) before {name(rival)}, which engages the same "
                "amount, is quicker."
            ),
        )
    ]


def deciding(paid: Paid) -> Deciding:
    """Return what the campaign itself engages: every rental once, every expense."""
    engaged = spent(paid.ledger, paid.books.currency)
    return Deciding(
        amount=str(engaged.amount),
        currency=engaged.currency,
        without=list(engaged.without),
        sentence=engaged.sentence,
    )
