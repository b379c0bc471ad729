"""Find each offer's price, before any pass runs.

Light: it is imported while the Snakefile is parsed.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from atpar.config.load import Plan
from atpar.config.offers import Offer
from atpar.config.secrets import holds_secret
from atpar.errors import AtparError
from atpar.money.calculator import PriceError, Tariff, newest, read_tariffs, spelling


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

    One for hourly billing or a stated term, else every package. AtparError if none is priced, if
    two fit that only an article number or a region tells apart, or if so many lots aren't offered.
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
    terms = [one.term_days for one in found]
    if offer.term_days is not None:
        found = [one for one in found if one.term_days == offer.term_days]
        if not found:
            days = ", ".join(f"{term:f}" for term in terms)
            raise AtparError(
                f"offer {offer.offer!r}: no price for a package of {offer.term_days} days of "
                f"{what}; known days: {days}"
            )
    _refuse_doubt(offer, found)
    try:
        for one in found:
            one.check_lots(offer.lots)
    except PriceError as error:
        raise AtparError(f"offer {offer.offer!r}: {error}") from None
    return sorted(found, key=lambda one: one.term_days or 0)


def _refuse_doubt(offer: Offer, found: Sequence[Tariff]) -> None:
    """Refuse two prices of one term: which one is meant isn't guessed."""
    first: dict = {}
    for tariff in found:
        other = first.setdefault((tariff.term_days, tariff.currency), tariff)
        if other is not tariff:
            raise AtparError(
                f"offer {offer.offer!r}: two prices fit ({other.where} and {tariff.where}); "
                "name the `sku` or the `region` in the offers table"
            )


def check_offers_priced(plan: Plan, tariffs: Sequence[Tariff] | None = None) -> None:
    """Raise AtparError if an offer of the plan has no price, listing every such offer.

    `tariffs` are read from the files under `tables.tariffs` unless given. A currency other than
    the balance's needs a dated rate.
    """
    if tariffs is None:
        tariffs = load_tariffs(plan.campaign.tables.tariffs)
    faults = []
    for offer in plan.offers:
        try:
            for tariff in engaged_tariffs(offer, tariffs):
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
