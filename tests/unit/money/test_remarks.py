"""What must be known of an amount is said of each offer that is compared."""

import pytest

from atpar.config.offers import Offer
from atpar.money.remarks import remarks
from atpar.money.rental import engage


@pytest.fixture
def rentals(price, hour):
    """Return a function that engages one package an offer, with what its price says of tax."""

    def make(**tax):
        found = {}
        for name, (provider, stated) in tax.items():
            offer = Offer(offer=name, provider=provider, gpu="a100")
            tariff = price("70.00", 7, provider=provider, tax_included=stated)
            found[name] = engage(offer, [tariff], 96 * hour)
        return found

    return make


@pytest.mark.parametrize(
    ("tax", "said"),
    [
        ({"a": ("acme", "yes"), "b": ("bolt", "yes")}, None),
        ({"a": ("acme", None)}, None),
        ({"a": ("acme", None), "b": ("acme", None)}, None),
        ({"a": ("acme", None), "b": ("bolt", None)}, "(not stated: a, b)"),
        ({"a": ("acme", "no"), "b": ("bolt", "yes")}, "(included: b; not included: a)"),
        ({"a": ("acme", "no"), "b": ("acme", None)}, "(not included: a; not stated: b)"),
    ],
)
def test_prices_that_may_differ_by_tax_are_flagged(rentals, tax, said):
    expected = [] if said is None else [f"the compared prices may differ by tax {said}"]
    assert remarks(rentals(**tax), {}) == dict.fromkeys(tax, expected)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({}, "states no billing step and no minimum"),
        ({"minimum_s": 600}, "states no billing step ("),
        ({"step_s": 1}, None),
    ],
)
def test_hours_counted_without_a_billing_step_are_flagged(price, hourly_offer, hour, cells, said):
    found = remarks({"a": engage(hourly_offer(), [price(**cells)], hour)}, {})["a"]
    assert (found == []) if said is None else (said in found[0])


def test_time_that_does_not_need_the_rental_is_said_to_be_paid(rentals, hour):
    found = remarks(rentals(a=("acme", "yes"), b=("acme", "yes")), {"a": 10 * hour})
    assert "10 h inside the window" in found["a"][0] and found["b"] == []


def test_nothing_engaged_has_nothing_to_remark(price, hour):
    offer = Offer(offer="a", provider="acme", gpu="a100")
    assert remarks({"a": engage(offer, [price("70.00", 7)], 200 * hour)}, {"a": hour}) == {"a": []}
