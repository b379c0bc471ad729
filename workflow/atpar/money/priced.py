"""Find each offer's price, before any pass runs.

Light: it is imported while the Snakefile is parsed.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

from atpar.config.load import Plan
from atpar.config.offers import Offer
from atpar.config.secrets import holds_secret
from atpar.errors import AtparError
from atpar.money.calculator import PriceError, Tariff, newest, read_tariffs, spelling
from atpar.money.currency import read_rate


def load_tariffs(paths: Iterable[str | Path], folder: Path = Path()) -> list[Tariff]:
    """Read tariff files, paths relative to `folder`; of two dates of one price the newest holds."""
    try:
        found = newest([tariff for path in paths for tariff in read_tariffs(folder / path)])
    except PriceError as error:
        raise AtparError(str(error)) from None
    for tariff in found:
        if holds_secret([tariff.source, tariff.notes]):
            raise AtparError(
                f"{tariff.where}: source or notes hold a password, key or token, and would be "
                "copied into ledger and report; leave it out"
            )
    return found


def offer_tariffs(offer: Offer, tariffs: Sequence[Tariff]) -> list[Tariff]:
    """Return the prices of what the offer rents, packages and hourly alike."""
    wanted = {
        "provider": offer.provider,
        "gpu": offer.gpu,
        "sku": offer.sku,
        "region": offer.region,
    }
    return [
        tariff
        for tariff in tariffs
        if all(
            name is None or spelling(getattr(tariff, field) or "") == spelling(name)
            for field, name in wanted.items()
        )
    ]


def engaged_tariffs(offer: Offer, tariffs: Sequence[Tariff]) -> list[Tariff]:
    """Return the prices among which the offer's own billing chooses, shortest package first.

    One for hourly billing or a stated term, else every package that is offered in so many lots.
    AtparError if none is priced or offered, if two fit that only an article number or a region
    tells apart, or if packages in several currencies fit: which is the cheapest isn't guessed.
    """
    known = offer_tariffs(offer, tariffs)
    what = f"{offer.provider} {offer.gpu}"
    if not known:
        priced = sorted({f"{one.provider} {one.gpu}" for one in tariffs})
        raise AtparError(
            f"offer {offer.offer!r}: no price for {what} in the tariff files; known: "
            f"{', '.join(priced) or 'none'}. Add its dated price to a file under tables.tariffs"
        )
    found = [one for one in known if one.billing == offer.billing]
    if not found:
        raise AtparError(
            f"offer {offer.offer!r}: billing is {offer.billing}, but {what} has only "
            f"{known[0].billing} prices ({known[0].where})"
        )
    if offer.term_days is not None:
        found = _of_term(offer, found, offer.term_days, "term_days")
    found = _offered(offer, found)
    _refuse_doubt(offer, found)
    other = next((one for one in found if one.currency != found[0].currency), None)
    if other is not None:
        raise AtparError(
            f"offer {offer.offer!r}: packages in {found[0].currency} ({found[0].where}) and in "
            f"{other.currency} ({other.where}) fit, and amounts of two currencies don't tell the "
            "cheapest; name the `term_days`, the `sku` or the `region` in the offers table"
        )
    return sorted(found, key=lambda one: one.term_days or 0)


def further_tariffs(offer: Offer, tariffs: Sequence[Tariff]) -> list[Tariff]:
    """Return the packages that the offer states beyond the first, in the order stated.

    AtparError: a term without a price, with two that fit, not offered in so many lots, or in
    another currency than the first package.
    """
    if offer.billing != "package" or not offer.further_terms_days:
        return []
    packages = [one for one in offer_tariffs(offer, tariffs) if one.billing == "package"]
    first = engaged_tariffs(offer, tariffs)[0]
    further = []
    for days in map(Decimal, offer.further_terms_days.split(",")):
        found = _of_term(offer, packages, days, "further_terms_days")
        found = _offered(offer, found)
        _refuse_doubt(offer, found)
        if found[0].currency != first.currency:
            raise AtparError(
                f"offer {offer.offer!r}: further_terms_days names {days} days, priced in "
                f"{found[0].currency} ({found[0].where}), and its first package is in "
                f"{first.currency} ({first.where}); name the `sku` or the `region` in the offers "
                "table, so that one currency is engaged"
            )
        further.append(found[0])
    return further


def _of_term(offer: Offer, packages: Sequence[Tariff], days: Decimal, option: str) -> list[Tariff]:
    """Return the packages of so many days, which an option names; AtparError if there is none."""
    found = [one for one in packages if one.term_days == days]
    if not found:
        known = ", ".join(f"{one.term_days:f}" for one in packages)
        raise AtparError(
            f"offer {offer.offer!r}: {option} names {days} days, but {offer.provider} {offer.gpu} "
            f"has no price for a package of {days} days; known days: {known}"
        )
    return found


def _offered(offer: Offer, found: Sequence[Tariff]) -> list[Tariff]:
    """Return the prices that are offered in so many lots; AtparError if none is."""
    offered = [one for one in found if one.is_offered(offer.lots)]
    if not offered:
        try:
            found[0].check_lots(offer.lots)
        except PriceError as error:
            raise AtparError(f"offer {offer.offer!r}: {error}") from None
    return offered


def _refuse_doubt(offer: Offer, found: Sequence[Tariff]) -> None:
    """Refuse two prices of one term, whatever their currencies: which is meant isn't guessed."""
    first: dict = {}
    for tariff in found:
        other = first.setdefault(tariff.term_days, tariff)
        if other is not tariff:
            raise AtparError(
                f"offer {offer.offer!r}: two prices fit ({other.where} and {tariff.where}); "
                "name the `sku` or the `region` in the offers table"
            )


def check_offers_priced(plan: Plan, tariffs: Sequence[Tariff] | None = None) -> None:
    """Raise AtparError if an offer of the plan has no price, listing every such offer.

    `tariffs` are read from the files under `tables.tariffs` unless given. A currency other than
    the balance's needs a dated rate, and every rate that is given must be readable.
    """
    if tariffs is None:
        tariffs = load_tariffs(plan.campaign.tables.tariffs)
    faults = []
    for currency, text in plan.campaign.money.rates.items():
        try:
            read_rate(text, currency)
        except AtparError as error:
            faults.append(str(error))
    for offer in plan.offers:
        try:
            for tariff in engaged_tariffs(offer, tariffs) + further_tariffs(offer, tariffs):
                _check_currency(offer, tariff, plan)
        except AtparError as error:
            faults.append(str(error))
    if faults:
        raise AtparError("\n".join(dict.fromkeys(faults)))


def _check_currency(offer: Offer, tariff: Tariff, plan: Plan) -> None:
    money = plan.campaign.money
    if tariff.currency != money.currency and tariff.currency not in money.rates:
        raise AtparError(
            f"offer {offer.offer!r}: its price is in {tariff.currency} ({tariff.where}), the "
            f"balance in {money.currency}; give a dated rate under money.rates, for example "
            f"{tariff.currency}: 1.08@2026-11-30"
        )


def old_prices(tariffs: Iterable[Tariff], day: date, age_days: int) -> list[str]:
    """Return a warning for each price that is older than `age_days` on `day`."""
    return [
        f"{one.provider} {one.gpu}: priced on {one.priced_on}, {one.age_days(day)} days ago "
        f"({one.where}); older than the {age_days} days of money.price_age_days"
        for one in tariffs
        if one.age_days(day) > age_days
    ]
