"""Prices, offers and rentals for the tests of the money room."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from atpar.config.offers import Offer
from atpar.money.calculator import Tariff, read_tariffs

TARIFFS = Path(__file__).parents[3] / "resources" / "tariffs"


@pytest.fixture
def known_prices():
    """Return the two known prices of [P29]."""
    return read_tariffs(TARIFFS / "iteragpu-2026-09-24.csv")


@pytest.fixture
def rtx_4090():
    """Return two RTX 4090 lots for 7 days."""
    return Offer(offer="rtx", provider="iteragpu", gpu="RTX 4090", lots=2, term_days=7)


@pytest.fixture
def b200():
    """Return one lot of two B200 for the cheapest package that covers."""
    return Offer(offer="b200", provider="iteragpu", gpu="b200")


@pytest.fixture
def price():
    """Return a maker of prices; hourly unless they have a term."""

    def make(amount="1.00", term=None, **cells):
        values = {
            "provider": "acme",
            "gpu": "a100",
            "gpus_per_lot": 1,
            "billing": "hourly" if term is None else "package",
            "price": Decimal(amount),
            "price_per": "lot",
            "currency": "USD",
            "priced_on": date(2026, 9, 24),
            "source": "price list",
            "term_days": None if term is None else Decimal(term),
        }
        return Tariff(**values | cells)

    return make


@pytest.fixture
def hourly_offer():
    """Return a maker of offers billed by the hour."""

    def make(**cells):
        values = {"offer": "a", "provider": "acme", "gpu": "a100", "billing": "hourly"}
        return Offer(**values | cells)

    return make


@pytest.fixture
def hour():
    """Return one hour."""
    return timedelta(hours=1)
