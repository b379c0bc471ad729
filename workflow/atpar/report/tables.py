"""Tables of the page: rows of text become cells, and each missing value gets a footnote."""

import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from atpar.report.values import Cell, Mark, missing

Row = dict[str, str]
Format = Callable[[str], str]


@dataclass(frozen=True)
class Column:
    """One column: where its value is, how it is written, and where its absence is explained."""

    title: str
    key: str
    form: Format = str
    numeric: bool = False
    wide: bool = False
    """Sentences or lists: the column gets room, and its text wraps."""
    reason: str | Callable[[Row], str | None] | None = None
    """Column with the reason of a missing value, or a function that tells it."""
    remark: str | None = None
    """Column with what must be known of a value that is there; it becomes a footnote too."""
    otherwise: str | None = None
    """The reason of a missing value where the row gives none."""
    marks: dict[str, Mark] = field(default_factory=dict)
    """Values that are good, bad or to be noticed; the page adds a sign to the colour."""
    unit: str | None = None
    """Column whose text follows the value, such as its currency."""
    empty: str | None = None
    """What an empty cell says where emptiness is a value (no failed check: `none`)."""

    def cell(self, row: Row) -> Cell:
        """Return this column's cell of `row`."""
        value = row.get(self.key)
        if value is None:
            return missing(f"the table has no column {self.key!r}")
        if value == "":
            return Cell(self.empty) if self.empty is not None else missing(self._why(row))
        unit = row.get(self.unit, "") if self.unit else ""
        text = f"{self.form(value)} {unit}".strip()
        remark = row.get(self.remark) if self.remark else None
        return Cell(text, remark=remark or None, mark=self.marks.get(value.strip().lower()))

    def _why(self, row: Row) -> str | None:
        given = self.reason(row) if callable(self.reason) else row.get(self.reason or "")
        return given or self.otherwise


@dataclass(frozen=True)
class Note:
    """A footnote: why values are missing, or what must be known of one."""

    label: str
    text: str


@dataclass(frozen=True)
class Table:
    """A table ready for the template; `rows` holds (cell, footnote label or None)."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: list[list[tuple[Cell, str | None]]]
    notes: list[Note]
    row_headers: int
    empty: str
    kind: str = "table"


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Row] | None,
    *,
    row_headers: int = 1,
    empty: str = "No rows.",
) -> Table:
    """Lay out `rows`; `row_headers` is how many leading columns name the row.

    `None` for rows means that the table itself is absent; `empty` is shown for no rows.
    """
    labels: dict[str, str] = {}
    laid = []
    for row in rows or ():
        cells = []
        for column in columns:
            cell = column.cell(row)
            label = None
            note = cell.reason or cell.remark
            if note is not None:
                label = labels.setdefault(note, _label(len(labels)))
            cells.append((cell, label))
        laid.append(cells)
    notes = [Note(label, reason) for reason, label in labels.items()]
    return Table(name, caption, columns, laid, notes, row_headers, empty)


def _label(index: int) -> str:
    """Return a, b, ..., z, aa, ab, ... for 0, 1, ..."""
    letters = string.ascii_lowercase
    head = _label(index // 26 - 1) if index >= 26 else ""
    return head + letters[index % 26]
