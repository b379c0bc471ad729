"""`atpar reconcile INVOICE.csv`: billed against engaged, and what doesn't match."""

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

from atpar.errors import AtparError
from atpar.money.currency import read_amount
from atpar.money.invoice import Match, read_invoice, read_ledger, reconcile


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("invoice", type=Path, help="FOCUS rows, or offer, item, amount, currency")
    parser.add_argument(
        "--ledger", type=Path, help="results/CAMPAIGN/ledger.csv (default: the only one there is)"
    )
    parser.add_argument("--tolerance", default="0.00", help="largest difference that still matches")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print the reconciliation; exit status 1 if anything doesn't match."""
    tolerance = read_amount(arguments.tolerance)
    if tolerance is None or tolerance < 0:
        raise AtparError(f"--tolerance is {arguments.tolerance!r}; write it as 0.01")
    ledger = arguments.ledger or _only_ledger()
    if not ledger.is_file():
        raise AtparError(f"{ledger}: no such ledger; run `snakemake` first")
    if not arguments.invoice.is_file():
        raise AtparError(f"{arguments.invoice}: no such invoice")
    matches = reconcile(read_ledger(ledger), read_invoice(arguments.invoice), tolerance)
    print(_as_json(matches) if arguments.json else _as_text(matches))
    return 0 if all(match.agrees for match in matches) else 1


def _only_ledger() -> Path:
    found = sorted(Path("results").glob("*/ledger.csv"))
    if len(found) != 1:
        names = ", ".join(map(str, found)) or "none"
        raise AtparError(f"name the ledger with --ledger; found under results: {names}")
    return found[0]


def _as_text(matches: list[Match]) -> str:
    lines = []
    for match in matches:
        sides = f"billed {_side(match.billed)} / engaged {_side(match.engaged)}"
        if match.unknown:
            sides = f"billed {_side(match.billed)} / engaged unknown"
        name = " ".join(filter(None, (match.offer, match.item))) or "without a name"
        lines.append(
            f"{match.status}: {name}: {sides} {match.currency}"
            + (f" ({match.remark})" if match.remark else "")
        )
    agreed = sum(match.agrees for match in matches)
    return "\n".join([*lines, f"{agreed} of {len(matches)} lines match"])


def _side(amount: Decimal | None) -> str:
    return "nothing" if amount is None else f"{amount:.2f}"


def _as_json(matches: list[Match]) -> str:
    rows = [
        {
            key: None if value is None else f"{value:.2f}" if isinstance(value, Decimal) else value
            for key, value in asdict(match).items()
        }
        for match in matches
    ]
    return json.dumps(rows, indent=2)
