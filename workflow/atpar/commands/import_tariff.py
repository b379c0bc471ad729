"""`atpar import-tariff`: a price list of another tool becomes a dated tariff file."""

from argparse import ArgumentParser, Namespace
from datetime import date
from pathlib import Path

from atpar.errors import AtparError
from atpar.money.calculator import PriceError, read_tariffs
from atpar.money.importers.capacity_blocks import import_capacity_blocks
from atpar.money.importers.common import Imported, Origin, chosen, write_tariffs
from atpar.money.importers.gpuhunt import import_gpuhunt
from atpar.money.importers.skypilot import import_skypilot

FORMATS = ("gpuhunt", "skypilot", "aws-capacity-blocks")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("file", type=Path, help="the price list")
    parser.add_argument("--priced-on", required=True, help="date of the prices: 2026-09-24")
    parser.add_argument("--source", required=True, help="where the file comes from")
    parser.add_argument("--output", required=True, type=Path, help="tariff file to write")
    parser.add_argument("--provider", help="where neither file nor folder is named for it")
    parser.add_argument("--gpu", action="append", default=[], help="only this GPU; repeatable")
    parser.add_argument("--region", action="append", default=[], help="only this one; repeatable")
    parser.add_argument(
        "--cards",
        action="append",
        default=[],
        metavar="TYPE=GPU:COUNT",
        help="GPUs in an AWS instance type: p5.48xlarge=h100:8; repeatable",
    )


def run(arguments: Namespace) -> int:
    """Write the tariff file, read it back, and say what was left out."""
    found = _read(arguments, Origin(_day(arguments.priced_on), arguments.source))
    tariffs = chosen(found.tariffs, arguments.gpu, arguments.region)
    if not tariffs:
        known = ", ".join(sorted({one.gpu for one in found.tariffs})) or "none"
        raise AtparError(f"{arguments.file}: no price is left; GPUs in the file: {known}")
    comment = f"Imported from {arguments.file.name} ({arguments.format}): {arguments.source}"
    write_tariffs(arguments.output, tariffs, comment)
    try:
        read_tariffs(arguments.output)
    except PriceError as error:
        arguments.output.unlink()
        raise AtparError(f"{arguments.file} can't become a tariff file: {error}") from None
    print(f"{arguments.output}: {len(tariffs)} prices of {arguments.priced_on}")
    for reason, count in found.left_out.items():
        print(f"  left out: {count} rows ({reason})")
    return 0


def _read(arguments: Namespace, origin: Origin) -> Imported:
    if arguments.format == "gpuhunt":
        return import_gpuhunt(arguments.file, origin, arguments.provider)
    if arguments.format == "skypilot":
        return import_skypilot(arguments.file, origin, arguments.provider)
    cards = dict(_cards(text) for text in arguments.cards)
    return import_capacity_blocks(arguments.file, origin, cards, arguments.provider or "aws")


def _cards(text: str) -> tuple[str, tuple[str, int]]:
    kind, _, card = text.partition("=")
    gpu, _, count = card.rpartition(":")
    if not kind or not gpu or not count.isdecimal() or not int(count):
        raise AtparError(f"--cards is {text!r}; write it as p5.48xlarge=h100:8")
    return kind, (gpu, int(count))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise AtparError(f"--priced-on is {text!r}; write a date as 2026-09-24") from None
