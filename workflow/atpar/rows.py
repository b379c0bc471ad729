"""Read the rooms' tables as text, without what writes and checks them.

Amounts and identifiers must survive unchanged, so cells are never parsed as numbers on the way in
or out; a missing value is an empty cell. Light: some are read when the Snakefile is parsed.
"""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from atpar.errors import AtparError


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
