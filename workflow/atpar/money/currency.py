"""Amounts as a person writes them, and currencies: never mixed without a dated rate."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction

from atpar.errors import AtparError

LARGEST = 10**12
"""No amount and no count is larger: a number beyond it is damage."""
DECIMALS = 40
"""Nor does any have more decimals."""


def read_amount(text: str | None) -> Decimal | None:
    """Return a decimal number within `LARGEST` either way; None if the text is no such number."""
    try:
        amount = Decimal(text or "")
    except ArithmeticError:
        return None
    # `abs` would round to the context, which overflows from 1e1000000 on.
    size = amount.copy_abs()
    if not amount.is_finite() or size > LARGEST or amount.as_tuple().exponent < -DECIMALS:
        return None
    return amount


def read_rate(text: str, currency: str) -> tuple[Decimal, date]:
    """Read `1.08@2026-11-30`: what one unit is worth in the balance's currency, and since when."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)@(\d{4}-\d\d-\d\d)", text)
    try:
        if found is None or not Decimal(found[1]):
            raise ValueError
        return Decimal(found[1]), date.fromisoformat(found[2])
    except ValueError:
        raise AtparError(
            f"money.rates.{currency} is {text!r}; write a rate and its date as 1.08@2026-11-30"
        ) from None


def convert(
    amount: Decimal | Fraction, currency: str, into: str, rates: Mapping[str, str]
) -> tuple[Fraction, str | None]:
    """Return the exact amount in `into`, and a sentence on the rate (None without conversion)."""
    if currency == into:
        return Fraction(amount), None
    if currency not in rates:
        raise AtparError(
            f"an amount is in {currency} and the balance in {into}; give a dated rate under "
            f"money.rates, for example {currency}: 1.08@2026-11-30"
        )
    rate, day = read_rate(rates[currency], currency)
    return Fraction(amount) * Fraction(rate), f"1 {currency} = {rate} {into} on {day}"
