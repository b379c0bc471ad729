"""The ledger: gaps are no zeros, parts add up to the cent, a shared rental counts once."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.config.expenses import Expense
from atpar.config.offers import Offer
from atpar.errors import AtparError
from atpar.money.balance import balance_rows, engaged, per_unit, total
from atpar.money.currency import convert, read_rate
from atpar.money.ledger import (
    COMMON,
    PASSES,
    RETRIES,
    STOPPED,
    STORAGE,
    TRANSFER,
    UNUSED,
    Books,
    Usage,
    divide,
    ledger_rows,
)
from atpar.money.rental import engage

USD = Books("USD", {})


def amounts(rows):
    return {(row["item"], row["variant"]): row.get("amount") for row in rows}


def test_a_package_is_divided_over_what_its_time_went_to(known_prices, rtx_4090, hour):
    rental = engage(rtx_4090, known_prices, 96 * hour)
    used = Usage({"b1": 20 * hour, "b8": 10 * hour}, {"b8": 6 * hour})
    rows = ledger_rows([rental], {"rtx": used}, [], USD)
    parts = amounts(rows)
    assert parts[UNUSED, ""] == Decimal("94.29")  # 72 of 168 hours, on its own line
    assert parts[RETRIES, "b8"] == Decimal("7.86")
    assert parts[COMMON, ""] + parts[PASSES, "b1"] + parts[PASSES, "b8"] == Decimal("117.85")
    assert total(rows) == Decimal("220.00")


def test_what_is_not_stated_is_a_gap_and_not_zero(known_prices, rtx_4090, hour):
    rows = ledger_rows([engage(rtx_4090, known_prices, hour)], {}, [], USD)
    for item in (STORAGE, TRANSFER):
        [row] = [row for row in rows if row["item"] == item]
        assert row.get("amount") is None and "isn't stated" in row["amount_reason"]


@pytest.mark.parametrize(
    ("needed", "tariff", "amount"),
    [
        ("10", {"disk_included_gb": Decimal(50)}, "0.00"),
        ("0", {}, "0.00"),
        ("100", {"disk_included_gb": Decimal(50), "storage_per_gb_month": Decimal("0.10")}, "5.00"),
        ("100", {"disk_included_gb": Decimal(50)}, None),
        ("100", {"storage_per_gb_month": Decimal("0.10")}, "10.00"),
        ("100", {}, None),
    ],
)
def test_storage_is_included_priced_or_a_gap(price, hourly_offer, hour, needed, tariff, amount):
    rental = engage(hourly_offer(storage_gb=needed), [price(**tariff)], 730 * hour)
    [row] = [row for row in ledger_rows([rental], {}, [], USD) if row["item"] == STORAGE]
    assert row.get("amount") == (None if amount is None else Decimal(amount))
    assert amount is not None or "not included in the amounts" in row["amount_reason"]


def test_transfer_out_is_priced_by_the_byte(price, hourly_offer, hour):
    offer = hourly_offer(egress_gb="50")
    rental = engage(offer, [price(egress_per_gb=Decimal("0.09"))], hour)  # K09
    assert amounts(ledger_rows([rental], {}, [], USD))[TRANSFER, ""] == Decimal("4.50")
    rental = engage(offer, [price()], hour)
    assert amounts(ledger_rows([rental], {}, [], USD))[TRANSFER, ""] is None


def test_stopped_time_without_a_price_is_a_gap(price, hourly_offer, hour):
    rental = engage(hourly_offer(), [price()], 58 * hour, 48 * hour)  # K08
    rows = ledger_rows([rental], {}, [], USD)
    assert (STOPPED, "") in amounts(rows) and amounts(rows)[STOPPED, ""] is None
    assert total(rows) == Decimal("10.00")
    rental = engage(hourly_offer(), [price(stopped_per_hour=Decimal("0.05"))], 58 * hour, 48 * hour)
    assert amounts(ledger_rows([rental], {}, [], USD))[STOPPED, ""] == Decimal("2.40")


def test_an_amount_is_the_quantity_times_the_unit_price_in_its_own_currency(
    price, hourly_offer, hour
):
    tariff = price(
        currency="EUR",
        stopped_per_hour=Decimal("0.05"),
        storage_per_gb_month=Decimal("0.10"),
        egress_per_gb=Decimal("0.09"),
    )
    offer = hourly_offer(lots=2, storage_gb="100", egress_gb="50")
    fee = Expense(expense="fee", quantity="3", unit_price="1.50", currency="GBP", grounds="x")
    rates = {"EUR": "2@2026-11-30", "GBP": "3@2026-11-30"}
    rows = ledger_rows(
        [engage(offer, [tariff], 778 * hour, 48 * hour)], {}, [fee], Books("USD", rates)
    )
    priced = {row["item"]: row for row in rows if row.get("unit_price")}
    assert {item: row["unit_price_currency"] for item, row in priced.items()} == {
        STOPPED: "EUR", STORAGE: "EUR", TRANSFER: "EUR", "fee": "GBP",
    }  # fmt: skip
    for row in priced.values():
        worth = 3 if row["unit_price_currency"] == "GBP" else 2
        exact = Decimal(row["quantity"]) * Decimal(row["unit_price"]) * worth
        assert row["amount"] == pytest.approx(exact, abs=Decimal("0.005")), row["item"]
    assert (priced[STOPPED]["quantity"], priced[STOPPED]["unit"]) == ("96.000000", "lot-h")


def test_an_expense_that_only_one_offer_states_is_a_gap_for_the_other(known_prices, rtx_4090, b200,
                                                                     hour):  # fmt: skip
    fee = Expense(expense="bank-fee", offer="rtx", unit_price="12.50", grounds="invoice")
    rentals = [engage(rtx_4090, known_prices, hour), engage(b200, known_prices, hour)]
    rows = {row["offer"]: row for row in ledger_rows(rentals, {}, [fee], USD)
            if row["item"] == "bank-fee"}  # fmt: skip
    assert rows["rtx"]["amount"] == Decimal("12.50")
    assert rows["b200"].get("amount") is None and "state 0" in rows["b200"]["amount_reason"]


def test_a_shared_rental_is_carried_by_each_option_and_counted_once(known_prices, rtx_4090, hour):
    rental = engage(rtx_4090, known_prices, 96 * hour)
    license_fee = Expense(expense="license", variant="b8", unit_price="5.00", grounds="terms")
    rows = ledger_rows([rental], {"rtx": Usage({"b1": hour, "b8": hour}, {})}, [license_fee], USD)
    options = [("rtx", "b1"), ("rtx", "b8")]
    balance = balance_rows(
        options, rows, {"rtx": rental}, {("rtx", "b8"): 1}, 1, dict.fromkeys(options, 1000), "USD",
        {},
    )  # fmt: skip
    first, second = balance
    assert (first["engaged_amount"], second["engaged_amount"]) == (Decimal(220), Decimal(225))
    assert total(rows) == Decimal("225.00")
    assert (first["shared_with"], second["shared_with"]) == ("rtx/b8", "rtx/b1")
    assert first["cost_per_deliverable"] is None  # [P30]: the spending stays
    assert "undefined" in first["cost_per_deliverable_reason"]
    assert second["cost_per_deliverable"] == Decimal("225.00")
    assert second["cost_per_million_entries"] == Decimal("225000.00")
    assert second["unused_h"] == "72.000000" and second["covers_window"] is True
    assert "storage" in second["engaged_reason"]
    assert "storage" in second["unknown_items"].split("; ")


@pytest.mark.parametrize(
    ("amount", "units", "cost"),
    [("220.00", 1, "220.00"), ("220.00", 3, "73.33"), ("0.05", 2, "0.03")],
)
def test_a_cost_per_unit_is_the_whole_amount_over_the_accepted(amount, units, cost):
    assert per_unit(Decimal(amount), units) == (Decimal(cost), None)


def test_currencies_are_never_mixed_without_a_dated_rate(price, hourly_offer, hour):
    rental = engage(hourly_offer(), [price("10.00", currency="EUR")], 3 * hour)
    with pytest.raises(AtparError, match="dated rate"):
        ledger_rows([rental], {}, [], USD)
    rows = ledger_rows([rental], {}, [], Books("USD", {"EUR": "1.085@2026-11-30"}))
    assert total(rows) == Decimal("32.55")
    assert "1 EUR = 1.085 USD on 2026-11-30" in rows[0]["grounds"]


@pytest.mark.parametrize("text", ["1.08", "1,08@2026-11-30", "0@2026-11-30", "1.08@30.11.26"])
def test_a_rate_has_a_date(text):
    with pytest.raises(AtparError, match="rate and its date"):
        read_rate(text, "EUR")
    assert convert(Decimal(2), "USD", "USD", {}) == (Fraction(2), None)


cents = st.integers(0, 10**9).map(lambda number: Decimal(number).scaleb(-2))


@given(cents, st.lists(st.fractions(0, 1000), min_size=1, max_size=20))
def test_a_divided_amount_adds_up_to_the_cent(amount, weights):
    parts = divide(amount, weights)
    assert sum(parts) == amount and len(parts) == len(weights)
    whole = sum(weights)
    if whole:
        for part, weight in zip(parts, weights, strict=True):
            assert abs(Fraction(part) - Fraction(amount) * weight / whole) < Fraction(1, 100)
            assert weight or part <= Decimal("0.01")


@given(
    lots=st.integers(1, 9),
    window=st.integers(1, 168),
    passes=st.dictionaries(st.sampled_from(["b1", "b4", "b8"]), st.integers(0, 40)),
    retries=st.dictionaries(st.sampled_from(["b1", "b4", "b8"]), st.integers(0, 40)),
    fee=cents,
)
def test_totals_equal_the_sum_of_the_rows(lots, window, passes, retries, fee):
    from datetime import date

    from atpar.money.calculator import Tariff

    offer = Offer(offer="a", provider="acme", gpu="a100", lots=lots)
    tariff = Tariff("acme", "a100", 2, "package", Decimal("33.33"), "lot", "USD",
                    date(2026, 1, 1), "list", Decimal(7))  # fmt: skip
    expense = Expense(expense="fee", unit_price=f"{fee:f}", grounds="x")
    rental = engage(offer, [tariff], timedelta(hours=window))
    used = Usage(*({name: timedelta(hours=hours) for name, hours in one.items()}
                   for one in (passes, retries)))  # fmt: skip
    rows = ledger_rows([rental], {"a": used}, [expense], USD)
    known = [row["amount"] for row in rows if row.get("amount") is not None]
    assert total(rows) == sum(known) == Decimal("33.33") * lots + fee
    assert engaged(rows, "b1")[0] == total(rows)
    assert all(amount == amount.quantize(Decimal("0.01")) for amount in known)
