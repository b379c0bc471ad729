"""The expenses table, read and checked against the plan [P31].

Light: it is checked while the Snakefile is parsed, so that no fault is found after the passes.
"""

from collections.abc import Sequence
from pathlib import Path

from atpar.config.expenses import Expense
from atpar.config.load import Plan, read_table
from atpar.errors import AtparError, did_you_mean
from atpar.money.ledger import Books


def plan_expenses(plan: Plan, folder: Path = Path()) -> list[Expense]:
    """Return the plan's expenses, the table's path relative to `folder`; AtparError on a fault."""
    money = plan.campaign.money
    return read_expenses(
        folder / plan.campaign.tables.expenses,
        [offer.offer for offer in plan.offers],
        [variant.variant for variant in plan.variants],
        Books(money.currency, money.rates),
    )


def read_expenses(
    path: str | Path,
    offers: Sequence[str],
    variants: Sequence[str] | None = None,
    books: Books | None = None,
) -> list[Expense]:
    """Read the expenses table, which may be empty.

    AtparError: a row that can't be read, or one that names an offer or a variant that isn't in the
    plan, or a currency without a readable rate. Variants and currencies are only checked where
    `variants` and `books` are given.
    """
    expenses = read_table(Path(path), Expense, "row_name", may_be_empty=True)
    for one in expenses:
        where = f"{path}: expense {one.row_name!r}"
        _refuse_unknown(where, "offer", one.offer, offers)
        if variants is not None:
            _refuse_unknown(where, "variant", one.variant, variants)
        if books is not None:
            try:
                books.convert(one.amount, one.currency)
            except AtparError as error:
                raise AtparError(f"{where}: {error}") from None
    return expenses


def _refuse_unknown(where: str, column: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        raise AtparError(
            f"{where} names the {column} {name!r}, which isn't in the {column}s table; "
            + did_you_mean(name, known)
        )
