"""Every offer has its price, or one message says which hasn't."""

from types import SimpleNamespace

import pytest

from atpar.config.campaign import Money
from atpar.config.offers import Offer
from atpar.errors import AtparError
from atpar.money.priced import check_offers_priced, engaged_tariffs, old_prices


def plan_of(*offers, **money):
    return SimpleNamespace(offers=offers, campaign=SimpleNamespace(money=Money(**money)))


def test_priced_offers_pass(known_prices, rtx_4090, b200):
    check_offers_priced(plan_of(rtx_4090, b200), known_prices)


def test_every_unpriced_offer_is_named_in_one_message(known_prices, rtx_4090, hourly_offer):
    other = Offer(offer="h", provider="iteragpu", gpu="h100")
    with pytest.raises(AtparError) as caught:
        check_offers_priced(plan_of(rtx_4090, other, hourly_offer()), known_prices)
    text = str(caught.value)
    assert "offer 'h': no price for iteragpu h100" in text and "offer 'a'" in text
    assert "known: iteragpu b200, iteragpu rtx-4090" in text and "'rtx'" not in text


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"term_days": 3}, "known days: 7"),
        ({"billing": "hourly"}, "only package prices"),
        ({"sku": "b200-nvlink"}, "no price"),
    ],
)
def test_what_a_tariff_lacks_is_said(known_prices, cells, message):
    offer = Offer(**{"offer": "b", "provider": "iteragpu", "gpu": "b200"} | cells)
    with pytest.raises(AtparError, match=message):
        check_offers_priced(plan_of(offer), known_prices)


def test_two_prices_are_told_apart_by_article_or_region_only(price, hourly_offer):
    prices = [price("1.00", region="eu"), price("2.00", region="us")]
    with pytest.raises(AtparError, match="two prices fit"):
        engaged_tariffs(hourly_offer(), prices)
    [one] = engaged_tariffs(hourly_offer(region="US"), prices)
    assert one.price == 2


def test_a_second_price_in_another_currency_is_a_doubt_too(price, hourly_offer):
    prices = [price("2.00", region="us"), price("2.50", region="eu", currency="EUR")]
    with pytest.raises(AtparError, match="two prices fit"):
        engaged_tariffs(hourly_offer(), prices)


def test_the_cheapest_package_is_not_told_between_currencies(price):
    offer = Offer(offer="a", provider="acme", gpu="a100")
    prices = [price("100.00", 3), price("500.00", 7, currency="EUR")]
    with pytest.raises(AtparError, match=r"in USD .* and in EUR .* name the `term_days`"):
        engaged_tariffs(offer, prices)
    [one] = engaged_tariffs(offer.model_copy(update={"term_days": 7}), prices)
    assert one.currency == "EUR"


def test_further_terms_are_checked_before_any_pass(price):
    offer = Offer(offer="a", provider="acme", gpu="a100", term_days=7, further_terms_days="3,5")
    with pytest.raises(
        AtparError, match="further_terms_days names 5 days, but acme a100 has no price"
    ):
        check_offers_priced(plan_of(offer), [price("70.00", 7), price("40.00", 3)])


def test_lots_that_are_not_offered_are_refused(price, hourly_offer):
    with pytest.raises(AtparError, match="from 1 to 2"):
        engaged_tariffs(hourly_offer(lots=3), [price(max_lots=2)])


def test_another_currency_needs_a_dated_rate(price, hourly_offer):
    prices = [price(currency="EUR")]
    with pytest.raises(AtparError, match=r"EUR: 1\.08@"):
        check_offers_priced(plan_of(hourly_offer()), prices)
    check_offers_priced(plan_of(hourly_offer(), rates={"EUR": "1.08@2026-11-30"}), prices)


def test_every_rate_that_is_given_is_readable(known_prices, rtx_4090, price, hourly_offer):
    with pytest.raises(AtparError, match=r"money\.rates\.EUR is '1\.08'; write a rate"):
        check_offers_priced(plan_of(hourly_offer(), rates={"EUR": "1.08"}), [price(currency="EUR")])
    with pytest.raises(AtparError, match=r"money\.rates\.GBP"):
        check_offers_priced(plan_of(rtx_4090, rates={"GBP": "1,2@2026-11-30"}), known_prices)


def test_old_prices_are_flagged_with_their_age(known_prices):
    day = known_prices[0].priced_on.replace(month=12, day=24)
    assert old_prices(known_prices, day, 91) == []
    assert "91 days ago" in old_prices(known_prices, day, 90)[0]
