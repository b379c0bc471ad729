"""What a campaign itself engages: every rental once, every expense."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Spent:
    """The known amount in the balance's currency, and the items without one."""

    amount: Decimal
    currency: str
    without: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The amount in words, with what it lacks."""
        text = f"The campaign itself engages {self.amount} {self.currency}, every rental once"
        *rest, last = self.without or ("",)
        gaps = f"{', '.join(rest)} and {last}" if rest else last
        verb = "isn't" if len(self.without) == 1 else "aren't"
        return f"{text}, without {gaps}, which {verb} known." if gaps else f"{text}."


def spent(ledger: Sequence[Mapping[str, str | None]], currency: str) -> Spent:
    """Add up the rows of ledger.csv; an amount that isn't known is named, never counted as 0."""
    known = (Decimal(row["amount"]) for row in ledger if row["amount"])
    gaps = dict.fromkeys(f"{row['item']} of {row['offer']}" for row in ledger if not row["amount"])
    return Spent(sum(known, Decimal("0.00")), currency, tuple(gaps))
