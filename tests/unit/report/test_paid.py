"""Amounts of the ledger on the page."""

from atpar.report.sections.paid import LEDGER


def test_a_unit_price_is_shown_in_its_own_currency():
    row = {"unit_price": "0.05", "unit_price_currency": "EUR", "amount": "5.40", "currency": "USD"}
    shown = {one.title: one.cell(row).text for one in LEDGER if one.key in row}
    assert (shown["Unit price"], shown["Amount"]) == ("0.05 EUR", "5.40 USD")
