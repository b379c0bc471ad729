"""Write the rooms' tables: checked against their schemas, every cell as text (see `atpar.rows`)."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa

from atpar.canonical import whole_file

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
