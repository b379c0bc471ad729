"""Cost of a load, break-even, margins, and when the campaign is repaid."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from atpar.calendar.breakeven import cheapest, curves, loads, ways, winners
from atpar.calendar.loads import Pace, hourly_rate, per_million, price_of
from atpar.calendar.margins import Standing, flip_margins
from atpar.calendar.repay import repaid
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff
from atpar.money.ledger import Books
from atpar.money.rental import engage

USD = Books("USD", {})
HOUR = timedelta(hours=1)


def tariff(amount, term=None, gpu="a100", **cells):
    return Tariff(
        provider="acme",
        gpu=gpu,
        gpus_per_lot=1,
        billing="hourly" if term is None else "package",
        price=Decimal(amount),
        price_per="lot",
        currency="USD",
        priced_on=date(2026, 9, 24),
        source="list",
        term_days=None if term is None else Decimal(term),
        **cells,
    )


def offer(name, billing="package", **cells):
    return Offer(offer=name, provider="acme", gpu="a100", billing=billing, **cells)


@pytest.mark.parametrize(
    ("window_h", "amount", "periods"),
    [(1, "60.00", 1), (72, "60.00", 1), (73, "110.00", 1), (169, "180.00", 3), (337, "300.00", 5)],
)
def test_a_forecast_prices_several_periods_one_by_one(window_h, amount, periods):
    price = price_of([tariff("60", 3), tariff("110", 7)], 1, window_h * HOUR, USD)
    assert (price.amount, price.periods) == (Decimal(amount), periods)


def test_lots_that_are_not_offered_have_no_price():
    assert price_of([tariff("1", max_lots=1)], 2, HOUR, USD) is None


def test_the_rate_of_used_up_time():
    assert hourly_rate([tariff("168", 7)], 2, USD) == 2
    assert hourly_rate([tariff("168", 7), tariff("0.75")], 1, USD) == Fraction(3, 4)
    bounded = [tariff("168", 7), tariff("0.25", max_lots=1)]
    assert hourly_rate(bounded, 2, USD) == 2 and hourly_rate(bounded[1:], 2, USD) is None
    euros = Books("USD", {"EUR": "1.10@2026-11-30"})
    assert hourly_rate([tariff("2")], 1, euros) == 2
    assert per_million(Fraction(36), 0.001) == Decimal("10.00")


@pytest.fixture
def choices():
    """Return a slow option by the hour and in a package, and a fast one that is dear."""
    slow = Pace("slow", "b1", HOUR, 0.010, 0.009, 0.012)
    fast = Pace("fast", "b8", HOUR, 0.002, 0.0019, 0.0021)
    offers = {"slow": offer("slow"), "fast": offer("fast", "hourly")}
    prices = {"slow": [tariff("1.00"), tariff("50.00", 7)], "fast": [tariff("3.00")]}
    return ways([slow, fast], offers, prices)


def test_a_way_is_an_option_under_one_billing(choices):
    assert [way.name for way in choices] == [
        ("slow", "b1", "package"),
        ("slow", "b1", "hourly"),
        ("fast", "b8", "hourly"),
    ]
    assert choices[1].cost(360_000, USD) == (Decimal("2.00"), Decimal("1.90"), Decimal("2.20"))


def test_the_winner_changes_where_the_costs_cross(choices):
    found = winners(choices, USD)
    assert found[0]["offer"] == "slow" and found[0]["billing"] == "hourly"
    # 1 x (1 + L / 360000) against 3 x (1 + L / 1800000): equal at 1 800 000 entries, cents apart.
    change = found[1]["from_entries"]
    assert found[1]["offer"] == "fast" and 1_780_000 < change < 1_820_000
    assert found[0]["to_entries"] == change - 1
    assert cheapest(choices, change - 20_000, USD).name[0] == "slow"
    assert [one["from_entries"] for one in found[1:]] == [
        one["to_entries"] + 1 for one in found[:-1]
    ]
    assert found[-1]["to_entries"] == loads()[-1]


def test_curves_never_fall_and_hold_their_band(choices):
    rows = curves(choices, USD)
    for name in {(row["offer"], row["variant"], row["billing"]) for row in rows}:
        own = [row for row in rows if (row["offer"], row["variant"], row["billing"]) == name]
        amounts = [row["amount"] for row in own]
        assert amounts == sorted(amounts) and len(own) == len(loads())
        assert all(row["amount_low"] <= row["amount"] <= row["amount_high"] for row in own)


def test_nothing_to_choose_from_has_no_winner():
    assert winners([], USD) == [] and cheapest([], 1000, USD) is None


def margins(*standings, window_h=96, minimum=0.88):
    prices = [tariff("100.00", 7), tariff("170.00", 14), tariff("300.00", 30)]
    rentals = {
        name: engage(offer(name, term_days=days), prices, window_h * HOUR)
        for name, days in (("a", 7), ("b", 14))
    }
    best, *rest = standings
    others = [one for one in rest if one.offer != best.offer]
    found = flip_margins(best, others, rentals, prices, USD, minimum)
    return {one["what"]: one for one in found}


def test_margins_say_how_far_things_may_move():
    found = margins(
        Standing("a", "b1", Decimal("100.00"), 0.90), Standing("b", "b1", Decimal("170.00"), 0.91)
    )
    assert (found["price"]["margin"], found["price"]["against"]) == ("70.00", "b")
    assert found["duration"]["margin"] == "72.00"  # 168 h minus the window of 96 h
    assert found["threshold"]["margin"] == "0.020000"
    assert "0.0200 higher" in found["threshold"]["text"]


def test_storage_is_paid_for_a_longer_window_too():
    prices = [tariff("100.00", 7, storage_per_gb_month=Decimal("0.10"))]
    rentals = {"a": engage(offer("a", term_days=7, storage_gb="730"), prices, 96 * HOUR)}
    # The rental, 9.60 of storage (0.10 an hour) and 3.00 of other expenses: 2.40 less than b.
    best = Standing("a", "b1", Decimal("112.60"), 0.90)
    other = Standing("b", "b1", Decimal("115.00"), 0.90)
    price, duration = flip_margins(best, [other], rentals, prices, USD, None)
    assert price["what"] == "price" and duration["what"] == "duration"
    assert float(duration["margin"]) == pytest.approx(24, abs=0.1)


def test_one_offer_alone_has_no_price_to_flip():
    found = margins(Standing("a", "b1", Decimal("100.00"), 0.90),
                    Standing("a", "b8", Decimal("100.00"), 0.90))  # fmt: skip
    assert set(found) == {"threshold"}


def test_the_load_that_repays_the_campaign():
    paces = [Pace("a", "b1", HOUR, 0.0036, 0.0036, 0.0036), Pace("a", "b8", HOUR, 0.0018, 0, 0)]
    admissible = {("a", "b1"), ("a", "b8")}
    found = repaid(Decimal("20.00"), paces, admissible, "b1", {"a": offer("a", "hourly")},
                   {"a": [tariff("10.00")]}, USD)  # fmt: skip
    assert found[0]["instead_of"] == "a/b1" and found[0]["chosen"] == "a/b8"
    assert found[0]["saving_per_million_entries"] == "5.00"
    assert found[0]["entries_that_repay"] == 4_000_000
    assert repaid(Decimal(20), paces, set(), "b1", {"a": offer("a", "hourly")},
                  {"a": [tariff("10.00")]}, USD) == []  # fmt: skip
