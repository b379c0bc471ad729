"""Text cells of the tables, to and from numbers: digits as they are, null as an empty cell."""

from collections.abc import Iterable, Mapping
from typing import Any

PARTED_BY = ";"


def joined(parts: Iterable[Any], by: str = PARTED_BY) -> str | None:
    """Return the parts as one cell, None if there is none."""
    return by.join(str(part) for part in parts) or None


def parts(cell: str | None, by: str = PARTED_BY) -> list[str]:
    """Return the parts of a cell written by `joined`."""
    return cell.split(by) if cell else []


def number(cell: str | None) -> float | None:
    """Return a cell as a number, None where it is empty."""
    return None if cell is None else float(cell)


def numbers(cell: str | None) -> list[float]:
    """Return a cell of numbers parted by semicolons."""
    return [float(part) for part in parts(cell)]


def seconds(value: float | None) -> str | None:
    """Return a duration as a cell, to the microsecond."""
    return None if value is None else f"{round(value, 6):.6f}".rstrip("0").rstrip(".")


def ratio(value: float | None) -> str | None:
    """Return a derived figure as a cell of six significant digits or more, never in exponents."""
    if value is None:
        return None
    digits = max(6, len(str(int(abs(value)))))
    return f"{float(f'{value:.{digits}g}'):f}".rstrip("0").rstrip(".") if value else "0"


def common(rows: Iterable[Mapping[str, Any]], name: str) -> str | None:
    """Return the cell that all rows share; None if there is none or they differ."""
    values = {row[name] for row in rows}
    return values.pop() if len(values) == 1 else None
