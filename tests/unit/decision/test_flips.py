"""What would change the answer, and what deciding costs."""

from pathlib import Path

import pytest

from atpar.decision.balance import read_tables
from atpar.decision.decide import decide
from atpar.decision.flips import read_paid
from atpar.decision.note import note
from atpar.errors import AtparError

TARIFF = """#tariff separator=comma decimal=point
provider,gpu,gpus_per_lot,billing,term_days,price,price_per,currency,priced_on,source
acme,card,1,package,7,110.00,lot,USD,2026-09-24,price list
acme,card,1,package,14,150.00,lot,USD,2026-09-24,price list
acme,other,1,package,7,160.00,lot,USD,2026-09-24,price list
"""
LEDGER = """offer,item,amount
card,rental: passes,100.00
card,rental: paid but unused,10.00
card,storage,
other,rental: passes,160.00
"""
STEADY, SLOW, QUICK = ([median + shift for shift in (0, 0.1, 0.2, -0.1, -0.2)]
                       for median in (10.0, 14.0, 8.0))  # fmt: skip


def answer(campaign, ledger=LEDGER, tariff=TARIFF):
    """Return the decision with what was paid, and its text."""
    campaign.decide()
    campaign.path("ledger.csv").write_text(ledger)
    campaign.path("tariff.csv").write_text(tariff)
    names = ("attempts", "summary", "separation", "deliverables", "balance")
    files = {name: campaign.path(f"{name}.csv") for name in names}
    tables = read_tables(
        seal=campaign.path("protocol/seal.json"),
        findings=campaign.path("separation.json"),
        windows=campaign.path("window.csv"),
        environments=sorted(campaign.folder.glob("offers/*/environment.json")),
        **files,
    )
    paid = read_paid(
        campaign.path("ledger.csv"),
        campaign.path("window.csv"),
        [Path(campaign.path("tariff.csv"))],
        [{"offer": name, "provider": "acme", "gpu": name} for name in ("card", "other")],
        "USD",
        {},
    )
    made = decide(tables, "recorded", campaign.options(), 0, paid)
    return made, note(made)


@pytest.fixture
def two_offers(recorded):
    prices = {"card": recorded.price("110.00"), "other": recorded.price("160.00")}
    campaign = recorded(prices=prices)
    for offer in prices:
        campaign.add_option("b1", STEADY, offer=offer)
    campaign.add_option("b8", QUICK)
    return campaign


def test_price_window_minimum_and_pass_may_move_so_far(two_offers):
    made, text = answer(two_offers)
    assert str(made.choice) == "b8 on card"
    found = {one.what: one for one in made.margins}
    assert set(found) == {"price", "duration", "threshold", "pass"}
    # 50.00 more, of the 110.00 that the rental costs.
    assert (found["price"].margin, found["price"].against) == ("45.45", "other")
    assert "up to 50.00 USD (45.45 %) more" in text
    # The window of 96 h may fill the package of 14 days at 150.00, which is still below 160.00.
    assert float(found["duration"].margin) == 14 * 24 - 96
    assert float(found["threshold"].margin) == pytest.approx(0.05)
    assert float(found["pass"].margin) == pytest.approx(2.0)
    assert "b1 on card, which engages the same amount, is quicker" in text


def test_options_that_are_not_told_apart_have_no_margin_of_a_pass(recorded):
    campaign = recorded(prices={"card": recorded.price("110.00")})
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", [one - 0.01 for one in STEADY])
    made, _ = answer(campaign, ledger="offer,item,amount\ncard,rental: passes,110.00\n")
    assert made.outcome == "tied"
    assert {one.what for one in made.margins} == {"threshold"}


def test_an_option_that_is_not_admissible_is_no_rival(two_offers):
    two_offers.prices["other"].covers = False
    made, _ = answer(two_offers)
    assert {one.what for one in made.margins} == {"threshold", "pass"}


def test_nothing_admissible_has_nothing_to_flip_and_the_spending_stays(recorded):
    campaign = recorded(protocol={"minimum": 0.99}, prices={"card": recorded.price("110.00")})
    campaign.add_option("b1", STEADY)
    made, text = answer(campaign, ledger="offer,item,amount\ncard,rental: passes,110.00\n")
    assert (made.outcome, made.margins) == ("none", [])
    assert made.deciding.amount == "110.00"
    assert "The campaign itself engages 110.00 USD, every rental once." in text


def test_what_is_not_known_of_the_spending_is_named(two_offers):
    made, text = answer(two_offers)
    assert made.deciding.without == ["storage of card"]
    assert "without storage of card, which isn't known" in text


def test_several_items_that_are_not_known_are_several(two_offers):
    made, _ = answer(two_offers, LEDGER + "other,storage,\n")
    assert "without storage of card and storage of other, which aren't" in made.deciding.sentence


def test_expenses_of_variants_may_grow_so_far_and_name_the_options(two_offers):
    two_offers.prices["card"].expenses = {"b1": "25.00"}
    two_offers.add_option("b8", QUICK, offer="other")
    two_offers.prices["other"].expenses = {"b8": "5.00"}
    made, text = answer(two_offers)
    assert str(made.choice) == "b8 on card"
    found = {one.what: one for one in made.margins}
    assert set(found) == {"price", "duration", "expense", "threshold"}
    assert (found["price"].against, found["price"].margin) == ("b1 on other", "45.45")
    expense = found["expense"]
    assert (expense.against, expense.margin, expense.unit) == ("b1 on card", "25.00", "USD")
    assert "may grow by 25.00 USD before b1 on card, which shares its rental" in text


def test_the_second_name_of_a_control_is_no_rival(recorded):
    campaign = recorded(
        protocol={"control": ["b8", "again"]}, prices={"card": recorded.price("110.00")}
    )
    campaign.add_option("b1", STEADY)
    campaign.add_option("b8", QUICK)
    campaign.add_option("again", [one + 0.05 for one in QUICK])
    made, _ = answer(campaign, ledger="offer,item,amount\ncard,rental: passes,110.00\n")
    found = {one.what: one for one in made.margins}
    assert found["pass"].against == "b1 on card"


def test_an_offer_without_a_price_is_refused(two_offers):
    with pytest.raises(AtparError, match="no price for acme other"):
        answer(two_offers, tariff="\n".join(TARIFF.splitlines()[:-1]))


def test_the_minimum_may_rise_to_the_worst_pass(recorded):
    campaign = recorded(prices={"card": recorded.price("110.00")})
    campaign.add_option("b1", STEADY[:4])
    worse = campaign.table(campaign.wrong([1, 2]))
    campaign.add_pass("b1", 5, table=worse, main_time_s=STEADY[4], wall_time_s=14.0)
    made, text = answer(campaign, ledger="offer,item,amount\ncard,rental: passes,110.00\n")
    (margin,) = made.margins
    # 0.90 in four of five passes, the minimum is 0.85.
    assert margin.what == "threshold" and float(margin.margin) == pytest.approx(0.04)
    assert "reaches 0.8900 in its worst pass" in text


def test_several_deliverables_have_no_single_margin_of_the_minimum(recorded):
    parts = ["east"] * 100 + ["west"] * 100
    campaign = recorded(
        protocol={"deliverable_column": "region", "deliverables": ["east", "west"]},
        columns={"region": parts},
        prices={"card": recorded.price("110.00")},
    )
    campaign.add_option("b1", STEADY)
    made, _ = answer(campaign, ledger="offer,item,amount\ncard,rental: passes,110.00\n")
    assert (made.outcome, made.margins) == ("chosen", [])


def test_an_option_that_failed_more_often_is_no_rival_of_the_pass(two_offers):
    two_offers.add_pass("b4", 1, status="error")
    two_offers.add_option("b4", [9.0, 9.1, 9.2, 8.9, 8.8], attempt_number=2)
    made, _ = answer(two_offers)
    found = {one.what: one for one in made.margins}
    assert found["pass"].against == "b1 on card"
