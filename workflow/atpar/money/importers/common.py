"""What the importers share: dated rows, refusals by row, and writing a tariff file."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
from pandera.errors import SchemaErrors

from atpar.canonical import write_text
from atpar.errors import AtparError
from atpar.money.calculator import DIALECT, Tariff, spelling
from atpar.money.currency import read_amount
from atpar.money.schemas import TARIFFS


@dataclass
class Imported:
    """The prices of one file, and how many of its rows were left out, by reason."""

    left_out: dict[str, int] = field(default_factory=dict)
    by_key: dict[tuple, Tariff] = field(default_factory=dict)

    @property
    def tariffs(self) -> list[Tariff]:
        """The prices, in the file's order."""
        return list(self.by_key.values())

    def leave_out(self, reason: str) -> None:
        """Count a row that isn't a price of a GPU."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def add(self, tariff: Tariff) -> None:
        """Keep a price; the same one twice is kept once, two prices of one thing are refused."""
        other = self.by_key.setdefault(tariff.key, tariff)
        if other is tariff:
            return
        if other.lot_price != tariff.lot_price:
            raise AtparError(
                f"{tariff.where}: {tariff.sku} in {tariff.region} costs {tariff.price}, but "
                f"{other.price} in line {other.line}; remove one"
            )
        self.leave_out("the same price again")


@dataclass(frozen=True)
class Origin:
    """When and where a price list was taken; an import without it would soon be worth nothing."""

    priced_on: date
    source: str


def read_csv(path: Path, needed: Iterable[str]) -> list[tuple[int, dict[str, str]]]:
    """Return (line, cells) of each row of a comma-separated file with the `needed` columns."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in needed if name not in (reader.fieldnames or [])]
            if missing:
                raise AtparError(
                    f"{path}: the columns {', '.join(missing)} are missing; found: "
                    f"{', '.join(reader.fieldnames or []) or 'none'}"
                )
            return [
                (reader.line_num, {key: (cell or "").strip() for key, cell in row.items() if key})
                for row in reader
            ]
    except FileNotFoundError:
        raise AtparError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise AtparError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except csv.Error as error:
        raise AtparError(f"{path}, line {reader.line_num}: {error}") from None


def amount(text: str, where: str, column: str) -> Decimal:
    """Read a non-negative decimal amount."""
    found = read_amount(text)
    if found is None or found < 0:
        raise AtparError(
            f"{where}: {column} is {text!r}; expected a number that isn't negative, at most 10^12"
        )
    return found


def count(text: str, where: str, column: str) -> int:
    """Read a whole number of cards (`8` or `8.0`); a share of a card is refused."""
    found = amount(text, where, column)
    if found != int(found):
        raise AtparError(f"{where}: {column} is {text!r}; a part of a GPU can't be priced here")
    return int(found)


def chosen(tariffs: Iterable[Tariff], gpus: Iterable[str], regions: Iterable[str]) -> list[Tariff]:
    """Return the prices of the GPUs and regions named (all of them where none is named)."""
    gpus, regions = {spelling(name) for name in gpus}, {name.lower() for name in regions}
    return [
        one
        for one in tariffs
        if (not gpus or spelling(one.gpu) in gpus)
        and (not regions or (one.region or "").lower() in regions)
    ]


def write_tariffs(path: str | Path, tariffs: Iterable[Tariff], comment: str) -> None:
    """Write a tariff file that `atpar.money.calculator` reads, columns without values left out.

    Checked against the schema of tariffs first; AtparError names the column and the value.
    """
    rows = [_cells(tariff) for tariff in tariffs]
    _validate(rows)
    used = [name for name in _columns() if any(row[name] for row in rows)]
    path = Path(path)
    text = [DIALECT, *(f"# {line}" for line in comment.splitlines()), ",".join(used)]
    text += [_line([row[name] for name in used]) for row in rows]
    write_text(path, "\n".join(text) + "\n")


def _validate(rows: list[Mapping[str, str]]) -> None:
    table = pd.DataFrame(rows, dtype="str").replace("", None)
    try:
        TARIFFS.validate(table, lazy=True)
    except SchemaErrors as error:
        fault = error.failure_cases.iloc[0]
        raise AtparError(
            f"{fault['column']} is {fault['failure_case']!r} in a price: {fault['check']}"
        ) from None


def _columns() -> list[str]:
    return [one.name for one in fields(Tariff) if one.name not in ("file", "line")]


def _cells(tariff: Tariff) -> Mapping[str, str]:
    values = {name: getattr(tariff, name) for name in _columns()}
    return {
        name: "" if value is None else f"{value:f}" if isinstance(value, Decimal) else str(value)
        for name, value in values.items()
    }


def _line(cells: Iterable[str]) -> str:
    quoted = []
    for cell in cells:
        cell = " ".join(cell.split())  # a tariff row is one line
        # A line that starts with # would be read as a comment.
        if "," in cell or '"' in cell or cell.startswith("#"):
            cell = '"' + cell.replace('"', '""') + '"'
        quoted.append(cell)
    return ",".join(quoted)
