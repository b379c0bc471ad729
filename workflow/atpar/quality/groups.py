"""Subgroups: the entries that share a value of a column of the reference table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atpar.errors import AtparError, did_you_mean
from atpar.quality.predictions import coded, column

ABSENT = "(no value)"
"""Name of the group of entries that have no value in the column."""


NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Group:
    """A subgroup: the entries at `rows` (int64 indices) have `value` in `column`."""

    column: str
    value: str
    rows: np.ndarray


def subgroups(
    reference: Path,
    columns: list[str],
    present: list[str],
    expected: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Group]:
    """Give each value of each column with its rows, values in order of first appearance.

    `present` are the columns of the file. An entry without a value (absent, or blank) is in a group
    of its own: leaving it out would hide it. `expected` are values of a column that are listed even
    where no entry has them.
    """
    for name in columns:
        if name not in present:
            raise AtparError(
                f"subgroups: {reference} has no column {name!r}; " + did_you_mean(name, present)
            )
        encoded = coded(reference, name)
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        values = [*encoded.dictionary.to_pylist(), ABSENT]
        blank = [code for code, value in enumerate(values) if not value.strip()]
        codes = np.where(np.isin(codes, blank), len(values) - 1, codes) if blank else codes
        # The narrowest type sorts fastest: numpy takes radix sort for 8 and 16 bits.
        narrow = codes.astype(np.min_scalar_type(len(values)))
        order = np.argsort(narrow, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(values)))
        parts = [
            Group(name, value, rows)
            for value, rows in zip(values, np.split(order, ends[:-1]), strict=True)
            if len(rows)
        ]
        yield from sorted(parts, key=lambda part: part.rows[0])
        yield from _absent(name, parts, (expected or {}).get(name, ()))


def label_groups(
    flags: np.ndarray, labels: Sequence[str], expected: Sequence[str] = ()
) -> list[Group]:
    """Return the entries that have each label, where an entry has several, or none.

    Such groups overlap; entries without any label are a group of their own. `expected` are labels
    that are listed even where no entry has them.
    """
    parts = [
        Group("label", label, np.flatnonzero(column))
        for label, column in zip(labels, flags.T, strict=True)
    ]
    parts.append(Group("label", ABSENT, np.flatnonzero(~flags.any(axis=1))))
    found = [part for part in parts if len(part.rows)]
    return [*found, *_absent("label", found, expected)]


def _absent(name: str, parts: Iterable[Group], expected: Iterable[str]) -> list[Group]:
    """Return an empty group for each expected value that no entry has."""
    found = {part.value for part in parts}
    return [Group(name, value, NOTHING) for value in dict.fromkeys(expected) if value not in found]


def rows_of(reference: Path, name: str, value: str) -> np.ndarray:
    """Return a mask of the entries that have `value` in the column `name`."""
    equal = pc.equal(column(reference, name), pa.scalar(value, pa.large_string()))
    return equal.fill_null(False).to_numpy(zero_copy_only=False)
