"""Other expenses that really apply, with their grounds [P31]."""

import re
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field

from atpar.config.base import Model, Name


def decimal_text(text: str) -> str:
    """Refuse what is no plain decimal number (`1_000`, `1e3`, `1,5`, a negative one)."""
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise ValueError(f"{text!r} is no amount; write it as 12.50, without thousands separators")
    return text


Amount = Annotated[str, AfterValidator(decimal_text)]
"""A non-negative decimal number as text, so that no float comes between."""


class Expense(Model):
    """One row of the expenses table."""

    expense: Name
    """Its name in the ledger; the same item of two offers has the same name."""
    offer: Name | None = None
    """The offer it is paid for; null: each offer pays it. A row with an offer replaces the one of
    the same expense and variant without."""
    variant: Name | None = None
    """The variant it is paid for; null: all of the offer's variants share it."""
    quantity: Amount = "1"
    """How many units."""
    unit: str = "once"
    """What is counted, such as `once`, `GB` or `hour`."""
    unit_price: Amount
    """Price of one unit."""
    currency: str = Field("USD", pattern=r"^[A-Z]{3}$")
    """Currency of the unit price, in three capital letters."""
    grounds: str
    """Why it applies: contract, invoice, rule."""
    source: str | None = None
    """Where the price is written: an invoice, a price list."""

    @property
    def row_name(self) -> str:
        """What must differ from row to row: the item and what it is paid for."""
        return " ".join(filter(None, (self.expense, self.offer, self.variant)))

    @property
    def amount(self) -> Decimal:
        """Quantity x unit price, not yet rounded."""
        return Decimal(self.quantity) * Decimal(self.unit_price)
