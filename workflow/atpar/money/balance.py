"""The balance: what each option engaged, and what one accepted deliverable costs [P30], [P35]."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from atpar.money.calculator import to_cents
from atpar.money.ledger import hours_cell
from atpar.money.rental import Rental

DEFINITION = 2
"""Version of how engaged amounts are carried and divided.

2: a cost per million entries counts the entries of the accepted deliverables, each once; before, it
counted a whole pass for each of them.
"""
MILLION = 1_000_000


def balance_rows(
    options: Sequence[tuple[str, str]],
    ledger: Sequence[Mapping[str, Any]],
    rentals: Mapping[str, Rental],
    accepted: Mapping[tuple[str, str], int],
    expected: int,
    entries: Mapping[tuple[str, str], int | None],
    currency: str,
    flags: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """Return one row an option (offer, variant).

    Every option of an offer carries the offer's whole rental and its shared expenses: the rental
    is engaged whichever variant is chosen, and only the ledger's total counts it once. `entries`
    are those of the accepted deliverables together (None: not known), `flags` sentences on an
    offer's prices.
    """
    return [
        _row(
            option,
            [one for one in ledger if one["offer"] == option[0]],
            rentals[option[0]],
            accepted.get(option, 0),
            expected,
            entries.get(option),
            currency,
            [other for other in options if other[0] == option[0] and other != option],
            flags.get(option[0], ()),
        )
        for option in options
    ]


def _row(option, lines, rental, accepted, expected, entries, currency, others, flags):
    offer, variant = option
    amount, gaps = engaged(lines, variant)
    if rental.amount is None:
        amount = None
    per_deliverable, reason = per_unit(amount, accepted)
    per_million, why_not = _per_million(amount, accepted, entries)
    term = [one.term_days for one in rental.tariffs if one.term_days]
    return {
        "offer": offer,
        "variant": variant,
        "deliverables_expected": expected,
        "deliverables_accepted": accepted,
        "engaged_amount": amount,
        "currency": currency,
        "engaged_reason": "; ".join([*_reasons(rental, gaps), *flags]),
        "unknown_items": "; ".join(gaps),
        "cost_per_deliverable": per_deliverable,
        "cost_per_deliverable_reason": reason,
        "cost_per_million_entries": per_million,
        "cost_per_million_entries_reason": why_not,
        "billing": rental.offer.billing,
        "package_term_days": f"{sum(term):f}" if term else None,
        "window_h": hours_cell(rental.window),
        "package_h": hours_cell(rental.paid) if term else None,
        "unused_h": hours_cell(rental.unused),
        "covers_window": rental.covers,
        "shared_with": "; ".join("/".join(other) for other in others),
        "definition": DEFINITION,
    }


def _per_million(
    amount: Decimal | None, accepted: int, entries: int | None
) -> tuple[Decimal | None, str | None]:
    """Return the cost of a million entries of what was accepted, or why there is none."""
    if amount is not None and accepted and entries is None:
        return None, "how many entries the accepted deliverables hold isn't known"
    exact = None if amount is None else Fraction(amount) * MILLION
    return per_unit(exact, entries if accepted else 0)


def _reasons(rental: Rental, gaps: Sequence[str]) -> list[str]:
    reasons = [rental.reason] if rental.reason else []
    if gaps:
        reasons.append("without what isn't known: " + ", ".join(gaps))
    return reasons


def engaged(lines: Sequence[Mapping[str, Any]], variant: str) -> tuple[Decimal, list[str]]:
    """Return what an option engages, and the items whose amount isn't known.

    The offer's rental in whole, its shared expenses, and the variant's own.
    """
    carried = [
        line
        for line in lines
        if line["item"].startswith("rental:") or line["variant"] in ("", variant)
    ]
    known = [line["amount"] for line in carried if line.get("amount") is not None]
    gaps = [line["item"] for line in carried if line.get("amount") is None]
    return sum(known, Decimal("0.00")), list(dict.fromkeys(gaps))


def per_unit(amount: Decimal | Fraction | None, units: int) -> tuple[Decimal | None, str | None]:
    """Return amount / units to the cent; without units it is undefined, and the reason says so."""
    if amount is None:
        return None, "the engaged amount isn't known"
    if units == 0:
        return None, "undefined: nothing was accepted, and the spending stays"
    return to_cents(Fraction(amount) / units), None


def total(ledger: Sequence[Mapping[str, Any]]) -> Decimal:
    """Return the sum of all known amounts: every rental once, whoever shares it."""
    return sum((one["amount"] for one in ledger if one.get("amount") is not None), Decimal("0.00"))
