"""The expenses table: faults are told before any pass; one offer's row replaces that for all."""

from decimal import Decimal

import pytest

from atpar.config.expenses import Expense
from atpar.errors import AtparError
from atpar.money.expenses import read_expenses
from atpar.money.ledger import Books, ledger_rows
from atpar.money.rental import engage

HEADER = "expense\toffer\tvariant\tunit_price\tcurrency\tgrounds\n"
USD = Books("USD", {"EUR": "1.10@2026-11-30", "GBP": "1.30"})


@pytest.fixture
def read(tmp_path):
    """Return a function that reads rows of an expenses table for offers a and b."""

    def rows(*lines):
        path = tmp_path / "expenses.tsv"
        path.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        return read_expenses(path, ["a", "b"], ["fp32-b1", "bf16-b8"], USD)

    return rows


def test_expenses_of_the_plan_are_read(read):
    assert read() == []
    first, second = read("fee\ta\t\t1.00\tUSD\tx", "licence\t\tbf16-b8\t2.00\tEUR\tx")
    assert (first.offer, second.variant) == ("a", "bf16-b8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fee\taa\t\t1\tUSD\tx", "names the offer 'aa'.*did you mean 'a'"),
        ("fee\t\tbf16-b9\t1\tUSD\tx", "'fee bf16-b9' names the variant.*mean 'bf16-b8'"),
        ("fee\t\t\t1\tCHF\tx", "expense 'fee': an amount is in CHF .* CHF: 1.08@2026-11-30"),
        ("fee\t\t\t1\tGBP\tx", r"money\.rates\.GBP is '1\.30'"),
    ],
)
def test_what_the_plan_does_not_have_is_refused(read, line, message):
    with pytest.raises(AtparError, match=message) as caught:
        read(line)
    assert "expenses.tsv" in str(caught.value)


def test_an_expense_of_one_offer_replaces_the_one_for_all(price, hourly_offer, hour):
    def expense(amount, **cells):
        return Expense(**{"expense": "fee", "unit_price": amount, "grounds": "x"} | cells)

    spending = [
        expense("1.00"),
        expense("2.00", offer="a", expense="Fee"),
        expense("4.00", variant="b8"),
        expense("8.00", offer="b", variant="b8"),
    ]
    rentals = [engage(hourly_offer(offer=name), [price()], hour) for name in ("a", "b")]
    charged = {
        name: [
            (row["variant"], row["amount"])
            for row in ledger_rows(rentals, {}, spending, Books("USD", {}))
            if (row["offer"], row["item"].lower()) == (name, "fee")
        ]
        for name in ("a", "b")
    }
    assert charged == {
        "a": [("", Decimal("2.00")), ("b8", Decimal("4.00"))],
        "b": [("", Decimal("1.00")), ("b8", Decimal("8.00"))],
    }
