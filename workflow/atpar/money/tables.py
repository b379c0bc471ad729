"""Read and write the rooms' tables: checked against their schemas, every cell as text.

Amounts and identifiers must survive unchanged, so cells are never parsed as numbers on the way in
or out; a missing value is an empty cell.
"""

import csv
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa

from atpar.canonical import whole_file
from atpar.errors import AtparError

NUMBER = pa.Check.str_matches(r"^-?\d+(\.\d+)?$", title="number")
AMOUNT = pa.Check.str_matches(r"^-?\d+\.\d{2}$")
INSTANT = pa.Check.str_matches(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$")
TRUTH = pa.Check.isin(["true", "false"])
CURRENCY = pa.Check.str_matches(r"^[A-Z]{3}$", title="three capitals")


def column(description: str, check: Any = None, *, missing: bool = False, **more: Any) -> pa.Column:
    """Return a text column; `missing` allows empty cells."""
    return pa.Column(str, check, nullable=missing, description=description, **more)


def write_table(path: str | Path, rows: Iterable[Mapping[str, Any]], schema: pa.DataFrameSchema):
    """Check `rows` against `schema` and write them whole as CSV, columns in the schema's order.

    Decimals keep their digits, None becomes an empty cell, a truth value `true` or `false`.
    Raises pandera's SchemaErrors: a table of ours that breaks its schema is a bug.
    """
    cells = [{name: _text(row.get(name)) for name in schema.columns} for row in rows]
    frame = pd.DataFrame(cells, columns=list(schema.columns), dtype="str")
    schema.validate(frame, lazy=True)
    with whole_file(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    # Before Python 3.13 the csv module leaves a lone carriage return unquoted, which parts a row.
    return str(value).replace("\r\n", "\n").replace("\r", "\n")


def read_rows(path: str | Path, needed: Iterable[str] = ()) -> list[dict[str, str | None]]:
    """Read a CSV table as text, an empty cell as None.

    AtparError: a needed column is missing, a row has more cells than the header, or it is no CSV in
    UTF-8.
    """
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            missing = [name for name in needed if name not in (reader.fieldnames or [])]
            if missing:
                raise AtparError(f"{path}: the columns {', '.join(missing)} are missing")
            return [_row(row, f"{path}, line {reader.line_num}") for row in reader]
        except UnicodeDecodeError:
            raise AtparError(f"{path}: not UTF-8; export it as CSV in UTF-8") from None
        except csv.Error as error:
            raise AtparError(f"{path}, line {reader.line_num}: no CSV ({error})") from None


def _row(cells: Mapping[str | None, Any], where: str) -> dict[str, str | None]:
    if None in cells:
        raise AtparError(
            f"{where}: more cells than the header has; a cell that holds a comma stands in quotes"
        )
    return {name: cell or None for name, cell in cells.items()}


def is_true(cell: str | None) -> bool:
    """Return whether a cell says true, however it is capitalised."""
    return (cell or "").lower() == "true"
