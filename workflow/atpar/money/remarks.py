"""What must be known of an engaged amount besides its gaps: tax, billing step, time given back."""

from collections.abc import Mapping
from datetime import timedelta

from atpar.money.calculator import show_hours
from atpar.money.rental import ZERO, Rental

TAX = {"yes": "included", "no": "not included", None: "not stated"}


def remarks(
    rentals: Mapping[str, Rental], released: Mapping[str, timedelta]
) -> dict[str, list[str]]:
    """Return offer -> sentences on its amount; `rentals` are those that are compared.

    `released` is the time inside an offer's window in which its rental isn't needed.
    """
    tax = _tax(rentals)
    return {
        name: [*tax, *_step(rental), *_released(released.get(name, ZERO))] if rental.tariffs else []
        for name, rental in rentals.items()
    }


def _tax(rentals: Mapping[str, Rental]) -> list[str]:
    """Say how the compared prices differ in tax; also where nobody knows of several providers."""
    engaged = {name: one for name, one in rentals.items() if one.tariffs}
    said: dict[str | None, list[str]] = {}
    for name, rental in engaged.items():
        for stated in dict.fromkeys(one.tax_included for one in rental.tariffs):
            said.setdefault(stated, []).append(name)
    providers = {one.offer.provider for one in engaged.values()}
    if not said or (len(said) == 1 and (None not in said or len(providers) == 1)):
        return []
    parts = [f"{TAX[stated]}: {', '.join(said[stated])}" for stated in TAX if stated in said]
    return [f"the compared prices may differ by tax ({'; '.join(parts)})"]


def _step(rental: Rental) -> list[str]:
    tariff = rental.tariffs[0]
    if tariff.billing != "hourly" or tariff.step_s is not None:
        return []
    lacks = "no billing step" + (" and no minimum" if tariff.minimum_s is None else "")
    return [f"hours are counted exactly, because the tariff states {lacks} ({tariff.where})"]


def _released(apart: timedelta) -> list[str]:
    if not apart:
        return []
    return [
        f"{show_hours(apart)} inside the window don't need the rental (`released`) and are in the "
        "amount all the same: giving it back and renting again isn't priced"
    ]
