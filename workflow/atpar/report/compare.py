"""Say where two tables, documents or notes differ, in words that name the place."""

import csv
import json
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

SHOWN = 5
"""Differences named for each file."""


def differences(name: str, given: Path, computed: Path) -> list[str]:
    """Return where the bag's file `given` differs from what was `computed`, the first few."""
    if not given.exists():
        return [f"{name}: it isn't in the bag"]
    if given.read_bytes() == computed.read_bytes():
        return []
    compare = {".csv": _tables, ".json": _documents}.get(given.suffix, _lines)
    try:
        found = list(islice(compare(given, computed), SHOWN + 1))
    except (ValueError, csv.Error) as error:
        return [f"{name}: can't be read ({error})"]
    if len(found) > SHOWN:
        found[SHOWN] = "and more"
    # Other bytes for the same values (line ends, spaces) are no difference in what is said.
    return [f"{name}{one}" if one.startswith(",") else f"{name}: {one}" for one in found]


def _said(given: Any, computed: Any) -> str:
    return f"the bag says {given!r}, the attempts give {computed!r}"


def _tables(given: Path, computed: Path) -> Iterator[str]:
    """Give each differing cell by its row and column."""
    own, other = _read_table(given), _read_table(computed)
    head, expected = next(own, []), next(other, [])
    if head != expected:
        yield f"columns: {_said(head, expected)}"
        return
    for number, (row, wanted) in enumerate(zip_longest(own, other), start=1):
        if row is None or wanted is None:
            yield f", row {number}: " + ("missing in the bag" if row is None else "only in the bag")
        elif len(row) != len(wanted):
            yield f", row {number}: {len(row)} cells, expected {len(wanted)}"
        else:
            label = " / ".join(wanted[:2])
            for column, cell, right in zip(head, row, wanted, strict=True):
                if cell != right:
                    yield f", row {number} ({label}), {column}: {_said(cell, right)}"


def _read_table(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        yield from csv.reader(stream, strict=True)


def _documents(given: Path, computed: Path) -> Iterator[str]:
    """Give each differing value by its dotted path."""
    texts = (path.read_text(encoding="utf-8") for path in (given, computed))
    yield from _values("", *map(json.loads, texts))


def _values(place: str, given: Any, computed: Any) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(computed, dict):
        for key in sorted(given.keys() | computed.keys()):
            inner = f"{place}.{key}" if place else key
            yield from _values(inner, given.get(key), computed.get(key))
    elif isinstance(given, list) and isinstance(computed, list) and len(given) == len(computed):
        for index, pair in enumerate(zip(given, computed, strict=True)):
            yield from _values(f"{place}[{index}]", *pair)
    elif given != computed:
        yield f"{place}: {_said(given, computed)}"


def _lines(given: Path, computed: Path) -> Iterator[str]:
    """Give each differing line of a text by its number."""
    texts = (path.read_text(encoding="utf-8").splitlines() for path in (given, computed))
    for number, (line, wanted) in enumerate(zip_longest(*texts), start=1):
        if line != wanted:
            yield f", line {number}: {_said(line, wanted)}"
