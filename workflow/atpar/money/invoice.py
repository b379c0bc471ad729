"""Set an invoice against the ledger: billed against engaged, line by line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from atpar.errors import AtparError
from atpar.money.currency import read_amount
from atpar.rows import read_rows

ZERO = Decimal("0.00")
AGREED = ("matches", "matches by its amount")
GAPS = ("billed, a gap in the ledger", "unknown on both sides")


@dataclass(frozen=True)
class Charge:
    """What is engaged or billed for one item of one offer."""

    offer: str
    item: str
    amount: Decimal | None
    currency: str
    where: str = ""
    gap: bool = False
    """Is the amount of a part of it unknown?"""

    @property
    def key(self) -> tuple[str, str]:
        """Offer and item as they are compared."""
        return self.offer.casefold(), self.item.casefold()


@dataclass(frozen=True)
class Match:
    """One line of the reconciliation."""

    status: str
    offer: str
    item: str
    engaged: Decimal | None
    billed: Decimal | None
    currency: str
    remark: str = ""

    @property
    def unknown(self) -> bool:
        """Is it in the ledger as a gap: engaged, but at an amount that isn't known?"""
        return self.status in GAPS

    @property
    def agrees(self) -> bool:
        """Do both sides say the same?"""
        return self.status in AGREED


def read_ledger(path: str | Path) -> list[Charge]:
    """Return what the ledger engages; the parts of one rental are one charge."""
    rows = read_rows(path, ["offer", "item", "amount", "currency"])
    charges: dict[tuple[str, str], Charge] = {}
    for number, row in enumerate(rows, start=2):
        where = f"{path}, row {number}"
        offer, item, currency = row["offer"], row["item"], row["currency"]
        if not (offer and item and currency):
            raise AtparError(
                f"{where}: offer, item or currency is empty, so it is no ledger; name the "
                "campaign's ledger.csv with --ledger"
            )
        item = "rental" if item.startswith("rental:") else item
        amount = None if row["amount"] is None else _amount(row["amount"], where)
        charge = Charge(offer, item, amount, currency)
        charges[charge.key] = _sum(charges.get(charge.key), charge)
    return list(charges.values())


def read_invoice(path: str | Path) -> list[Charge]:
    """Return what is billed: FOCUS rows, or rows of offer, item, amount and currency.

    In FOCUS rows offer and item are read from Tags (JSON), else from ResourceId and
    ChargeDescription. Rows that bill nothing are left out.
    """
    rows = read_rows(path)
    if not rows:
        raise AtparError(f"{path}: no rows")
    focus = "BilledCost" in rows[0]
    wanted = ("BilledCost", "BillingCurrency") if focus else ("offer", "item", "amount", "currency")
    missing = [name for name in wanted if name not in rows[0]]
    if missing:
        raise AtparError(
            f"{path}: expected FOCUS columns (BilledCost, BillingCurrency, ...) or offer, item, "
            f"amount, currency; {', '.join(missing)} is missing"
        )
    charges: dict[tuple, Charge] = {}
    for line, row in enumerate(rows, start=2):
        where = f"{path}, row {line}"
        offer, item = _named(row, where) if focus else (row["offer"] or "", row["item"] or "")
        amount = _amount(row[wanted[0] if focus else "amount"], where)
        currency = row["BillingCurrency" if focus else "currency"]
        if not currency:
            raise AtparError(f"{where}: the currency is empty")
        if amount:
            charge = Charge(offer, item, amount, currency, where)
            key = (*charge.key, currency)
            charges[key] = _sum(charges.get(key), charge)
    return list(charges.values())


def _named(row: Mapping[str, str | None], where: str) -> tuple[str, str]:
    tags = _tags(row.get("Tags"), where)
    offer = tags.get("offer") or (row.get("ResourceId") or "").split("/")[0]
    item = tags.get("item") or row.get("ChargeDescription") or ""
    return offer, item


def _tags(text: str | None, where: str) -> dict[str, str]:
    """Return a row's tags as text; an export writes none as an empty cell, `null` or `[]`."""
    if not text:
        return {}
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):
        raise AtparError(f"{where}: Tags is no JSON") from None
    if tags is None or tags == []:
        return {}
    named = isinstance(tags, Mapping)
    if not named or any(isinstance(one, Mapping | list) for one in tags.values()):
        raise AtparError(
            f"{where}: Tags is {text[:80]!r}; expected a JSON object of names and texts, such as "
            '{"offer": "b200", "item": "storage"}'
        )
    return {name: str(one) for name, one in tags.items() if one is not None}


def _amount(text: str | None, where: str) -> Decimal:
    amount = read_amount(text)
    if amount is None:
        raise AtparError(
            f"{where}: the amount is {text!r}; write 1234.50, without thousands separators, at "
            "most 10^12"
        )
    return amount


def _sum(first: Charge | None, second: Charge) -> Charge:
    if first is None:
        return second
    known = [one.amount for one in (first, second) if one.amount is not None]
    total = sum(known, ZERO) if known else None
    gap = first.gap or len(known) == 1
    return Charge(first.offer, first.item, total, first.currency, first.where, gap)


def reconcile(
    engaged: Sequence[Charge], billed: Sequence[Charge], tolerance: Decimal = ZERO
) -> list[Match]:
    """Return one line for each charge of either side.

    First by offer and item; then a billed line without a partner goes to the one engaged charge
    that nothing was billed for and that has exactly its amount and currency, if there is only one.
    """
    left = list(billed)
    matches, unbilled = [], []
    for charge in engaged:
        same = [one for one in left if one.key == charge.key]
        left = [one for one in left if one not in same]
        if same:
            matches += [_compare(charge, one, tolerance) for one in same]
        else:
            unbilled.append(charge)
    for one in left:
        twins = [charge for charge in unbilled if _same_amount(charge, one, tolerance)]
        if len(twins) == 1:
            unbilled.remove(twins[0])
            matches.append(_line("matches by its amount", twins[0], one, f"billed as {one.item!r}"))
        else:
            remark = "several engaged charges have its amount" if twins else "nothing engages it"
            matches.append(_line("billed, not engaged", None, one, remark))
    matches += [
        _line("unknown on both sides", charge, None, "a gap in the ledger, and not billed")
        if charge.amount is None
        else _line("engaged, not billed", charge, None)
        for charge in unbilled
        if charge.amount != ZERO
    ]
    return matches


def _same_amount(charge: Charge, one: Charge, tolerance: Decimal) -> bool:
    return (
        charge.amount is not None
        and charge.currency == one.currency
        and abs(charge.amount - one.amount) <= tolerance
    )


def _compare(charge: Charge, one: Charge, tolerance: Decimal) -> Match:
    if charge.currency != one.currency:
        return _line("another currency", charge, one, f"engaged in {charge.currency}")
    if charge.amount is None:
        return _line("billed, a gap in the ledger", charge, one, "state it in the tables")
    if _same_amount(charge, one, tolerance):
        return _line("matches", charge, one)
    gap = "; the ledger doesn't know the amount of a part of it" if charge.gap else ""
    return _line("differs", charge, one, f"by {one.amount - charge.amount:+f}{gap}")


def _line(status: str, charge: Charge | None, one: Charge | None, remark: str = "") -> Match:
    named = charge or one
    return Match(
        status,
        named.offer,
        named.item,
        charge.amount if charge else None,
        one.amount if one else None,
        (one or charge).currency,
        "; ".join(filter(None, (remark, one.where if one and one.where else ""))),
    )
