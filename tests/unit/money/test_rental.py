"""What a rental engages: packages whole, hours as billed, nothing extended by itself."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.config.offers import Offer
from atpar.errors import AtparError
from atpar.money.calculator import PriceError
from atpar.money.rental import engage


def test_the_worked_prices(known_prices, rtx_4090, b200, hour):
    first = engage(rtx_4090, known_prices, 96 * hour)
    second = engage(b200, known_prices, 96 * hour)
    assert (first.amount, first.unused, first.covers) == (Decimal("220.00"), 72 * hour, True)
    assert (second.amount, second.unused) == (Decimal("2071.00"), 72 * hour)


def test_a_short_window_doesnt_make_a_package_cheaper(known_prices, rtx_4090, hour):
    assert engage(rtx_4090, known_prices, hour).amount == Decimal("220.00")  # [P31]


def test_without_a_term_the_cheapest_cover_is_engaged(price, hour):
    offer = Offer(offer="a", provider="acme", gpu="a100")
    prices = [price("70.00", 7), price("60.00", 3), price("50.00", 14)]
    assert engage(offer, prices, 72 * hour).amount == Decimal("50.00")
    assert engage(offer, prices[:2], 72 * hour).amount == Decimal("60.00")
    assert engage(offer, prices[:2], 72 * hour + timedelta(seconds=1)).amount == Decimal("70.00")


def test_a_window_that_outgrows_every_package_engages_nothing(price, hour):
    offer = Offer(offer="a", provider="acme", gpu="a100")
    rental = engage(offer, [price("70.00", 7)], 200 * hour)
    assert rental.amount is None and not rental.covers and not rental.tariffs
    assert "2 periods of 7 days" in rental.reason and "cut 32 h" in rental.reason


def test_a_stated_term_that_is_too_short_is_paid_and_said(known_prices, rtx_4090, hour):
    rental = engage(rtx_4090, known_prices, 169 * hour)
    assert (rental.amount, rental.covers) == (Decimal("220.00"), False)
    assert "exceeds the 168 h" in rental.reason and "2 x 220.00" in rental.reason


def test_a_longer_package_that_covers_is_named_where_the_stated_term_is_too_short(price, hour):
    offer = Offer(offer="a", provider="acme", gpu="a100", term_days=3)
    rental = engage(offer, [price("60.00", 3), price("110.00", 7)], 96 * hour)
    assert (rental.amount, rental.covers) == (Decimal("60.00"), False)
    assert "the 7-day package of acme a100 covers it: 110.00 USD" in rental.reason
    assert "cut" not in rental.reason and "1 periods" not in rental.reason


def test_what_is_not_offered_in_so_many_lots_is_passed_over(price, hour):
    offer = Offer(offer="a", provider="acme", gpu="a100", term_days=3)
    prices = [price("60.00", 3), price("110.00", 7, min_lots=2), price("2.00")]
    assert "7 days" not in engage(offer, prices, 96 * hour).reason
    cheapest = offer.model_copy(update={"term_days": None})
    assert engage(cheapest, prices, 48 * hour).amount == Decimal("60.00")
    assert engage(cheapest, prices, 96 * hour).amount is None


def test_further_periods_are_engaged_only_as_stated(price, hour):
    prices = [price("70.00", 7), price("40.00", 3)]
    offer = Offer(offer="a", provider="acme", gpu="a100", lots=2, term_days=7,
                  further_terms_days="3,3")  # fmt: skip
    rental = engage(offer, prices, 300 * hour)
    assert (rental.amount, rental.covers, rental.unused) == (Decimal("300.00"), True, 12 * hour)
    with pytest.raises(AtparError, match="names 5 days"):
        engage(offer.model_copy(update={"further_terms_days": "5"}), prices, hour)
    with pytest.raises(AtparError, match="2 lots of a100"):
        engage(offer, [prices[0], price("40.00", 3, max_lots=1)], hour)
    with pytest.raises(AtparError, match="one currency is engaged"):
        engage(offer, [prices[0], price("40.00", 3, currency="EUR")], hour)


def test_hourly_billing_pays_running_and_stopped_time(price, hourly_offer, hour):
    tariff = price("2.00", step_s=3600, stopped_per_hour=Decimal("0.10"), price_per="gpu",
                   gpus_per_lot=4)  # fmt: skip
    rental = engage(hourly_offer(lots=2), [tariff], 20.5 * hour, 10 * hour)
    assert rental.amount == Decimal("176.00")  # 8 GPUs x 11 billed hours x 2.00
    assert rental.stopped_amount == Decimal("2.00")
    assert (rental.unused, rental.total) == (hour / 2, Decimal("178.00"))
    assert "rounded up once, all of it together, to 3600 s" in rental.grounds
    unknown = engage(hourly_offer(), [price()], 20 * hour, 10 * hour)
    assert (unknown.amount, unknown.stopped_amount) == (Decimal("10.00"), None)  # K08
    assert unknown.total is None


def test_the_number_of_lots_is_checked(price, hourly_offer, hour):
    with pytest.raises((AtparError, PriceError), match="4 lots"):
        engage(hourly_offer(lots=4), [price(max_lots=3)], hour)


@given(windows=st.lists(st.integers(1, 400), min_size=2, max_size=2).map(sorted))
def test_an_engaged_amount_never_falls_when_the_window_grows(windows):
    from datetime import date

    from atpar.money.calculator import Tariff

    def package(days, amount):
        return Tariff("acme", "a100", 1, "package", Decimal(amount), "lot", "USD",
                      date(2026, 1, 1), "list", Decimal(days))  # fmt: skip

    prices = [package(1, "9.00"), package(3, "8.00"), package(7, "31.00"), package(14, "30.00")]
    offer = Offer(offer="a", provider="acme", gpu="a100")
    short, long = (engage(offer, prices, timedelta(hours=hours)).amount for hours in windows)
    assert long is None or short <= long
