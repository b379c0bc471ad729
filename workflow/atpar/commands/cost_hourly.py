"""`atpar cost-hourly`: what an hourly rental costs in full [P32]."""

import json
from argparse import ArgumentParser, Namespace
from datetime import timedelta
from decimal import Decimal

from atpar.errors import AtparError
from atpar.money.balance import per_unit
from atpar.money.calculator import PriceError, hours, parse_duration
from atpar.money.currency import read_amount
from atpar.money.hourly import HourlyCost, Line, cost_lines, total_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("--price", required=True, help="price of one GPU for one hour")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs rented (default 1)")
    parser.add_argument(
        "--hours",
        required=True,
        help="from the start of billing to its end, boot and installation included: 10 or 1d 2h",
    )
    parser.add_argument("--step", help="billing rounds up to this: 1s, 60s, 1h")
    parser.add_argument("--minimum", help="least that is billed: 10min, 1h")
    parser.add_argument("--stopped", help="time stopped but not released: 2d")
    parser.add_argument("--stopped-price", help="price of one stopped GPU for one hour")
    parser.add_argument("--storage", help="amount for storage")
    parser.add_argument("--transfer", help="amount for transfer out")
    parser.add_argument("--retries", help="amount for failed retries")
    parser.add_argument("--retry-hours", help="hours of failed retries, beyond --hours")
    parser.add_argument("--accepted-results", type=int, help="adds the cost per accepted result")
    parser.add_argument("--currency", default="USD")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print the cost line by line; what wasn't stated is named, never taken as zero."""
    lines = cost_lines(
        HourlyCost(
            price=_amount(arguments.price, "--price"),
            gpus=arguments.gpus,
            running=_time(arguments.hours, "--hours"),
            step=_time(arguments.step, "--step"),
            minimum=_time(arguments.minimum, "--minimum"),
            stopped=_time(arguments.stopped, "--stopped") or timedelta(),
            stopped_price=_amount(arguments.stopped_price, "--stopped-price"),
            storage=_amount(arguments.storage, "--storage"),
            transfer=_amount(arguments.transfer, "--transfer"),
            retries=_amount(arguments.retries, "--retries"),
            retry_time=_time(arguments.retry_hours, "--retry-hours"),
        )
    )
    accepted = arguments.accepted_results
    if accepted is not None and accepted < 0:
        raise AtparError("--accepted-results can't be negative")
    print(_as_json(lines, arguments) if arguments.json else _as_text(lines, arguments))
    return 0


def _amount(text: str | None, flag: str) -> Decimal | None:
    if text is None:
        return None
    amount = read_amount(text)
    if amount is None:
        raise AtparError(f"{flag} is {text!r}; write an amount as 2.50, at most 10^12")
    return amount


def _time(text: str | None, flag: str) -> timedelta | None:
    if text is None:
        return None
    number = read_amount(text)
    try:
        return parse_duration(text) if number is None else hours(number)
    except (PriceError, OverflowError) as error:
        raise AtparError(f"{flag}: {error}") from None


def _as_text(lines: list[Line], arguments: Namespace) -> str:
    known, unknown = total_of(lines)
    currency = arguments.currency
    shown = [f"{known} {currency}" + (f", without {', '.join(unknown)}" if unknown else "")]
    for line in lines:
        if line.amount is None:
            shown.append(f"  {line.item}: not stated, so not included")
        else:
            shown.append(f"  {line.item}: {line.amount:.2f} {currency} ({line.grounds})")
    if arguments.accepted_results is not None:
        cost, reason = per_unit(known, arguments.accepted_results)
        shown.append(f"  cost per accepted result: {reason or f'{cost} {currency}'}")
    return "\n".join(shown)


def _as_json(lines: list[Line], arguments: Namespace) -> str:
    known, unknown = total_of(lines)
    answer = {
        "amount": str(known),
        "currency": arguments.currency,
        "not_included": unknown,
        "lines": [
            {
                "item": line.item,
                "amount": None if line.amount is None else f"{line.amount:.2f}",
                "grounds": line.grounds,
            }
            for line in lines
        ],
    }
    if arguments.accepted_results is not None:
        cost, reason = per_unit(known, arguments.accepted_results)
        answer["cost_per_accepted_result"] = None if cost is None else str(cost)
        answer["cost_per_accepted_result_reason"] = reason
    return json.dumps(answer, indent=2)
