"""The stage: from tariffs, expenses, calendar and verdicts to ledger, balance and packages."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from atpar.config.load import check
from atpar.config.offers import Offer
from atpar.money.balance import DEFINITION, balance_rows
from atpar.money.calculator import (
    Candidate,
    Tariff,
    alternatives,
    candidates,
    hours,
    in_hours,
    show_hours,
    to_cents,
)
from atpar.money.expenses import read_expenses
from atpar.money.focus import FOCUS, focus_rows
from atpar.money.ledger import Books, Usage, ledger_rows
from atpar.money.lengths import attempt_length
from atpar.money.priced import engaged_tariffs, load_tariffs, offer_tariffs, old_prices
from atpar.money.remarks import remarks
from atpar.money.rental import ZERO, Rental, engage
from atpar.money.schemas import BALANCE, LEDGER, PACKAGES
from atpar.money.tables import write_table
from atpar.rows import is_true, read_rows

Rows = Sequence[Mapping[str, str | None]]


def keep_ledger(
    summary: str | Path,
    deliverables: str | Path,
    attempts: str | Path,
    windows: str | Path,
    tariffs: Sequence[str | Path],
    expenses: str | Path,
    ledger: str | Path,
    balance: str | Path,
    packages: str | Path,
    focus: str | Path,
    campaign: str,
    offers: Sequence[Mapping[str, Any]],
    expected: int,
    currency: str,
    rates: Mapping[str, str],
    price_age_days: int,
) -> None:
    """Write ledger, balance, packages and FOCUS rows of every offer that was measured.

    `offers` are the offers as plain values, `expected` the number of deliverables defined before.
    """
    options = read_rows(summary, ["offer", "variant"])
    tried = read_rows(attempts, ["offer", "variant", "status", "counted", "finished_utc"])
    measured = {row["offer"] for row in options}
    chosen = [check(Offer, dict(one), "offers table") for one in offers]
    chosen = [one for one in chosen if one.offer in measured]
    prices = load_tariffs(tariffs)
    books = Books(currency, dict(rates))
    spending = read_expenses(expenses, [one["offer"] for one in offers], books=books)
    rentals = read_rentals(windows, chosen, prices)
    lines = ledger_rows(list(rentals.values()), usage(tried), spending, books)
    day = last_day(tried)
    flags = remarks(rentals, read_released(windows))
    for one in chosen:
        if day:
            flags[one.offer] += old_prices(engaged_tariffs(one, prices), day, price_age_days)
    accepted = accepted_parts(
        read_rows(deliverables, ["offer", "variant", "deliverable", "accepted", "entries"])
    )
    rows = balance_rows(
        [(row["offer"], row["variant"]) for row in options],
        lines,
        rentals,
        {option: len(own) for option, own in accepted.items()},
        expected,
        {option: sum_known(own.values()) for option, own in accepted.items()},
        currency,
        flags,
    )
    write_table(ledger, lines, LEDGER)
    write_table(balance, rows, BALANCE)
    write_table(packages, package_rows(rentals.values(), prices), PACKAGES)
    write_table(focus, focus_rows(lines, rentals, read_windows(windows), campaign), FOCUS)


def read_rentals(
    windows: str | Path, offers: Sequence[Offer], tariffs: Sequence[Tariff]
) -> dict[str, Rental]:
    """Return what each offer engages for its window in window.csv."""
    spans = read_windows(windows)
    stopped = {row["offer"]: row["stopped_h"] for row in read_rows(windows, ["stopped_h"])}
    return {
        offer.offer: engage(
            offer,
            tariffs,
            spans[offer.offer][1] - spans[offer.offer][0],
            hours(Decimal(stopped[offer.offer] or 0)),
        )
        for offer in offers
    }


def read_windows(windows: str | Path) -> dict[str, tuple[datetime, datetime]]:
    """Return the start and the end of each offer's window."""
    return {
        row["offer"]: (
            datetime.fromisoformat(row["start_utc"]),
            datetime.fromisoformat(row["end_utc"]),
        )
        for row in read_rows(windows, ["offer", "start_utc", "end_utc"])
    }


def read_released(windows: str | Path) -> dict[str, timedelta]:
    """Return the time inside each offer's window in which its rental isn't needed."""
    return {row["offer"]: hours(Decimal(row.get("released_h") or 0)) for row in read_rows(windows)}


def usage(attempts: Rows) -> dict[str, Usage]:
    """Return what each offer's attempts took: those that count, and the others, by variant."""
    usages: dict[str, Usage] = {}
    for attempt in attempts:
        one = usages.setdefault(attempt["offer"], Usage({}, {}))
        good = attempt["status"] == "ok" and is_true(attempt["counted"])
        times = one.passes if good else one.retries
        length = attempt_length(attempt) or ZERO
        times[attempt["variant"]] = times.get(attempt["variant"], ZERO) + length
    return usages


def last_day(attempts: Rows) -> date | None:
    """Return the day on which the last attempt ended; prices are as old as on that day."""
    ends = [attempt["finished_utc"] for attempt in attempts if attempt["finished_utc"]]
    return max((datetime.fromisoformat(end).date() for end in ends), default=None)


def accepted_parts(rows: Rows) -> dict[tuple[str, str], dict[str, int | None]]:
    """Return option -> accepted deliverable -> its entries; each deliverable counts once [P33]."""
    accepted: dict[tuple[str, str], dict[str, int | None]] = {}
    for row in rows:
        if is_true(row["accepted"]):
            own = accepted.setdefault((row["offer"], row["variant"]), {})
            own[row["deliverable"]] = None if row["entries"] is None else int(row["entries"])
    return accepted


def sum_known(counts: Iterable[int | None]) -> int | None:
    """Return the sum of counts; None if one of them isn't known."""
    counts = list(counts)
    return None if None in counts else sum(counts)


def package_rows(rentals: Iterable[Rental], tariffs: Sequence[Tariff]) -> list[dict[str, Any]]:
    """Return what is engaged, every candidate, and the alternatives where no package covers."""
    rows = []
    for rental in rentals:
        offer = rental.offer
        known = offer_tariffs(offer, tariffs)
        found = candidates(known, offer.lots, rental.window, rental.stopped)
        if rental.tariffs:
            rows.append(_engaged_row(rental))
        rows += [_candidate_row(offer, one) for one in found]
        if not any(one.tariff.billing == "package" for one in found):
            rows += [
                {
                    "offer": offer.offer,
                    "kind": "alternative",
                    "text": text,
                    "definition": DEFINITION,
                }
                for text in alternatives(known, offer.lots, rental.window)
            ]
    return rows


def _engaged_row(rental: Rental) -> dict[str, Any]:
    term = [one.term_days for one in rental.tariffs if one.term_days]
    return {
        "offer": rental.offer.offer,
        "kind": "engaged",
        "billing": rental.offer.billing,
        "term_days": f"{sum(term):f}" if term else None,
        "amount": rental.total,
        "currency": rental.currency,
        "unused_h": to_cents(in_hours(rental.unused)),
        "text": "; ".join([rental.grounds, *_stopped(rental)]),
        "definition": DEFINITION,
    }


def _stopped(rental: Rental) -> list[str]:
    if not rental.stopped or rental.offer.billing != "hourly":
        return []
    amount = "at a price that isn't known"
    if rental.stopped_amount is not None:
        amount = f"{rental.stopped_amount} {rental.currency}"
    return [f"{show_hours(rental.stopped)} stopped: {amount}"]


def _candidate_row(offer: Offer, one: Candidate) -> dict[str, Any]:
    term = one.tariff.term_days
    return {
        "offer": offer.offer,
        "kind": "candidate",
        "billing": one.tariff.billing,
        "term_days": None if term is None else f"{term:f}",
        "amount": one.amount,
        "currency": one.tariff.currency,
        "unused_h": to_cents(in_hours(one.unused)),
        "text": one.describe(),
        "definition": DEFINITION,
    }
