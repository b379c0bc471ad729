"""The stage that looks ahead: forecast to the real load, break-even, cost of deciding.

Everything here is a forecast and says so; nothing of it is an accepted figure [P34].
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from atpar.calendar.breakeven import curves, ways, winners
from atpar.calendar.forecast import (
    Forecast,
    Load,
    Observation,
    forecast,
    padded_tokens,
    stretches,
)
from atpar.calendar.loads import Pace, price_of
from atpar.calendar.outlook_tables import CURVES, DEFINITION, FORECAST
from atpar.calendar.production import (
    describe_load,
    evaluation_lengths,
    production_lengths,
    typical_lengths,
)
from atpar.calendar.repay import repaid
from atpar.canonical import read_json, write_json
from atpar.config.load import check
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff, hours, in_hours, show_hours, to_cents
from atpar.money.keep import read_rentals, usage
from atpar.money.ledger import Books
from atpar.money.priced import load_tariffs, offer_tariffs
from atpar.money.rental import ZERO
from atpar.money.spent import spent
from atpar.money.tables import write_table
from atpar.rows import is_true, read_rows

MILLION = 1_000_000
Rows = Sequence[Mapping[str, str | None]]


def look_ahead(
    attempts: str | Path,
    records: Sequence[str | Path],
    summary: str | Path,
    decision: str | Path,
    ledger: str | Path,
    windows: str | Path,
    reference: str | Path | None,
    model: str | Path,
    tariffs: Sequence[str | Path],
    production_tokens: str | Path | None,
    forecast_table: str | Path,
    curves_table: str | Path,
    outlook: str | Path,
    offers: Sequence[Mapping[str, Any]],
    variants: Sequence[Mapping[str, Any]],
    production: Mapping[str, Any] | None,
    usual: str,
    currency: str,
    rates: Mapping[str, str],
) -> None:
    """Write forecast.csv, breakeven.csv and outlook.json.

    `reference` is corpus/reference.parquet; None where the corpus isn't at hand: then a load is one
    of entries as long as the corpus', and none is forecast. Only options that `decision` finds
    admissible are compared with each other, in prices whose currency has a rate; the others are
    named. `usual` is the variant that one would
    have taken without a campaign.
    """
    books = Books(currency, dict(rates))
    options = read_rows(summary)
    measured = {row["offer"] for row in options}
    plans = [check(Offer, dict(one), "offers table") for one in offers]
    plans = {one.offer: one for one in plans if one.offer in measured}
    prices = load_tariffs(tariffs)
    known = {name: offer_tariffs(offer, prices) for name, offer in plans.items()}
    left_out = _without_rate(known, books)
    known = {name: [one for one in own if books.knows(one.currency)] for name, own in known.items()}
    tried = read_rows(attempts)
    marks = _marks(records)
    evaluated = None if reference is None else evaluation_lengths(reference)
    count, lengths = _load(production, production_tokens, evaluated)
    limit = read_json(model).get("usable_length")
    settings = {one["variant"]: one for one in variants}
    rentals = read_rentals(windows, list(plans.values()), prices)
    used = usage(tried)
    paces, rows = [], []
    for row in options:
        offer, variant = row["offer"], row["variant"]
        seen = observations(tried, offer, variant, marks)
        if not seen:
            continue
        padded = _padding(settings[variant], evaluated and evaluated[0], lengths, limit, seen)
        guess = forecast(seen, Load(MILLION, round(padded * MILLION)))
        fixed = _fixed(rentals[offer].window, used[offer], row["startup_median_s"])
        pace = _pace(offer, variant, fixed, guess)
        paces.append(pace)
        if count is not None:
            rows.append(
                _forecast_row(pace, guess, count, padded, plans[offer], known[offer], books)
            )
    write_table(forecast_table, rows, FORECAST)
    admissible = {
        (one["offer"], one["variant"])
        for one in read_json(decision)["options"]
        if one["admissible"]
    }
    choices = ways([one for one in paces if (one.offer, one.variant) in admissible], plans, known)
    write_table(curves_table, [_dated(row, currency) for row in curves(choices, books)], CURVES)
    engaged = spent(read_rows(ledger), currency)
    write_json(
        outlook,
        {
            "definition": DEFINITION,
            "label": "forecast",
            "load": None if count is None else describe_load(count, lengths),
            "left_out": left_out,
            "cheapest_by_load": [_plain(one) for one in winners(choices, books)],
            "deciding": {
                "amount": str(engaged.amount),
                "currency": currency,
                "text": engaged.sentence,
                "repaid": repaid(engaged.amount, paces, admissible, usual, plans, known, books),
            },
        },
    )


def _without_rate(known: Mapping[str, Sequence[Tariff]], books: Books) -> list[str]:
    """Return a sentence for each price that can't be compared, because its currency has no rate."""
    return [
        f"{name}: its {one.billing} price in {one.currency} ({one.where}) is left out, because "
        f"money.rates has no rate of {one.currency}"
        for name, own in known.items()
        for one in own
        if not books.knows(one.currency)
    ]


def _marks(records: Sequence[str | Path]) -> dict[str, list[list[float]]]:
    """Return attempt id -> marks along its span, for the records that have any."""
    found = (read_json(path) for path in records)
    return {one["attempt_id"]: one["marks"] for one in found if one.get("marks")}


def observations(
    attempts: Rows, offer: str, variant: str, marks: Mapping[str, Sequence[Sequence[float]]]
) -> list[Observation]:
    """Return the stretches of each counted pass of an option that ended well.

    A pass without marks is a single stretch.
    """
    return [
        stretch
        for row in attempts
        if (row["offer"], row["variant"], row["status"]) == (offer, variant, "ok")
        and is_true(row["counted"])
        and row["main_time_s"]
        and row["tokens_padded"]
        and int(row["entries_completed"] or 0)
        for stretch in stretches(
            Observation(
                row["attempt_id"],
                int(row["entries_completed"]),
                int(row["tokens_padded"]),
                float(row["main_time_s"]),
            ),
            marks.get(row["attempt_id"], ()),
        )
    ]


def _load(production, production_tokens, evaluated) -> tuple[int | None, np.ndarray | None]:
    """Return the number of entries of the real load (None: none stated) and typical lengths."""
    if evaluated is None:
        return None, None
    if production_tokens is not None:
        lengths = production_lengths(production_tokens)
        return (production or {}).get("entries") or len(lengths), lengths
    shares = None if production is None else production.get("buckets")
    count = None if production is None else production["entries"]
    return count, typical_lengths(*evaluated, shares)


def _padding(
    variant: Mapping[str, Any],
    evaluated: np.ndarray | None,
    lengths: np.ndarray | None,
    limit: int | None,
    seen: Sequence[Observation],
) -> float:
    """Return the padded tokens of a mean entry of the load under a variant.

    Computed from the lengths as the variant batches them, then scaled by what its passes really
    padded against the same computation over the evaluation corpus.
    """

    def computed(counts: np.ndarray) -> float:
        longest = variant["max_length"] or limit
        total = padded_tokens(
            counts,
            variant["batch_size"],
            variant["order"],
            variant["padding"],
            longest,
            **{name: variant.get(name) for name in ("token_budget", "pad_multiple", "window")},
        )
        return total / len(counts)

    # Over whole passes: the stretches of one hold other lengths, sorted ones above all.
    really = sum(one.padded_tokens for one in seen) / sum(one.entries for one in seen)
    if evaluated is None or lengths is None:
        return really
    return computed(lengths) * really / computed(evaluated)


def _fixed(window: timedelta, used, startup: str | None) -> timedelta:
    """Return what a rental needs besides the work: the window without its passes, one start-up."""
    spent = sum([*used.passes.values(), *used.retries.values()], ZERO)
    return max(window - spent, ZERO) + timedelta(seconds=float(startup or 0))


def _pace(offer: str, variant: str, fixed: timedelta, guess: Forecast) -> Pace:
    each = [seconds / MILLION for seconds in (guess.seconds, guess.low, guess.high)]
    return Pace(offer, variant, fixed, *each)


def _forecast_row(pace, guess, count, padded, offer, tariffs, books) -> dict[str, Any]:
    own = [one for one in tariffs if one.billing == offer.billing]
    lengths = pace.rental(count)
    prices = [price_of(own, offer.lots, one, books) for one in lengths]
    work = [hours(Fraction(each) * count / 3600) for each in (pace.seconds, pace.low, pace.high)]
    row = {
        "offer": pace.offer,
        "variant": pace.variant,
        "label": "forecast",
        "entries": count,
        "padded_tokens": round(padded * count),
        "method": guess.method,
        "extrapolates": guess.extrapolates,
        "currency": books.currency,
        "billing": offer.billing,
        "definition": DEFINITION,
    }
    for name, values in (("work_h", work), ("rental_h", lengths)):
        for suffix, value in zip(("", "_low", "_high"), values, strict=True):
            row[name + suffix] = f"{float(in_hours(value)):.6f}"
    if None in prices:
        return row | {"reason": "it isn't offered in so many lots"}
    for suffix, price in zip(("", "_low", "_high"), prices, strict=True):
        row["amount" + suffix] = price.amount
        row["cost_per_million_entries" + suffix] = to_cents(
            Fraction(price.amount) * MILLION / count
        )
    term = prices[0].tariff.term_days
    periods = prices[0].periods
    said = f"hourly, {show_hours(lengths[0])}"
    if term is not None:
        row |= {"package_term_days": f"{term:f}", "periods": periods}
        said = f"{periods} x {term:f}-day package" if periods > 1 else f"{term:f}-day package"
        said += ", priced one by one" if periods > 1 else ""
    return row | {"rented_as": said}


def _dated(row: Mapping[str, Any], currency: str) -> dict[str, Any]:
    return {**row, "label": "forecast", "currency": currency, "definition": DEFINITION}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Decimal) else value for key, value in row.items()}
