"""Read what the report is made of: the tables and documents of a campaign's folder.

Tables are read as text, so that the page shows what they hold and nothing that was parsed into
it. A table that isn't there is None, one without rows an empty list: the page says so.
"""

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atpar.errors import AtparError
from atpar.report.tables import Row

TABLES = (
    "attempts",
    "summary",
    "separation",
    "deliverables",
    "balance",
    "ledger",
    "packages",
    "window",
    "calendar",
    "forecast",
    "breakeven",
)

DOCUMENTS = {
    "decision": "decision.json",
    "separation": "separation.json",
    "corpus": "corpus/fingerprint.json",
    "model": "model/fingerprint.json",
    "seal": "protocol/seal.json",
    "outlook": "outlook.json",
}


@dataclass(frozen=True)
class Material:
    """Everything the page shows."""

    campaign: str
    tables: dict[str, list[Row] | None] = field(default_factory=dict)
    documents: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    decision_text: str | None = None
    follows: str | None = None
    """The earlier campaign that asked the same question."""
    beside: list[Row] | None = None
    """follows.csv; None where the earlier campaign's results weren't at hand."""
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    quality: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    checks: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def rows(self, table: str) -> list[Row]:
        """Return a table's rows, none if it is absent."""
        return self.tables.get(table) or []

    def emptiness(self, table: str, otherwise: str) -> str:
        """Return why a table shows no rows: it is absent, or what `otherwise` says."""
        return f"{table}.csv isn't there." if self.tables.get(table) is None else otherwise

    def document(self, name: str) -> dict[str, Any]:
        """Return a document, empty if it is absent."""
        return self.documents.get(name) or {}

    @property
    def absent(self) -> list[str]:
        """Names of the files that aren't there."""
        tables = [f"{name}.csv" for name, rows in self.tables.items() if rows is None]
        documents = [DOCUMENTS[name] for name, value in self.documents.items() if value is None]
        return [*tables, *documents, *([] if self.decision_text is not None else ["decision.md"])]


def read_material(folder: Path, follows: str | None = None, beside: bool = False) -> Material:
    """Read a campaign's folder. Raises AtparError for a file that can't be read as what it is.

    Of quality, checks and environments only those of the options in `summary.csv` are taken when
    it is there: a folder may still hold files of options that are no longer asked about.
    """
    tables = {name: _read_table(folder / f"{name}.csv") for name in TABLES}
    summary = tables["summary"]
    options = (
        None if summary is None else {(row.get("offer"), row.get("variant")) for row in summary}
    )
    environments = {
        path.parent.name: _read_json(path)
        for path in sorted(folder.glob("offers/*/environment.json"))
        if options is None or path.parent.name in {offer for offer, _ in options}
    }
    text = folder / "decision.md"
    return Material(
        campaign=folder.resolve().name,
        tables=tables,
        documents={
            name: _read_json(folder / path) if (folder / path).exists() else None
            for name, path in DOCUMENTS.items()
        },
        decision_text=_read_text(text) if text.exists() else None,
        follows=follows,
        beside=_read_table(folder / "follows.csv") if beside else None,
        environments=environments,
        quality=_read_options(folder / "quality", options),
        checks=_read_options(folder / "checks", options),
    )


def _read_options(folder: Path, options: set | None) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the documents `<offer>/<variant>.json` below `folder`."""
    found = {}
    for path in sorted(folder.glob("*/*.json")):
        option = (path.parent.name, path.name.removesuffix(".json"))
        if options is None or option in options:
            found[option] = _read_json(path)
    return found


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")  # line ends inside cells stay as they are
    except UnicodeDecodeError as error:
        raise AtparError(
            f"{path}: not UTF-8 (byte {error.start}); it was changed after the workflow wrote it: "
            "delete it and run snakemake again"
        ) from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read_text(path))
    except ValueError as error:
        raise AtparError(f"{path}: not JSON ({error}); delete it and run snakemake again") from None
    if not isinstance(value, dict):
        raise AtparError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _read_table(path: Path) -> list[Row] | None:
    if not path.exists():
        return None
    csv.field_size_limit(2**30)
    reader = csv.DictReader(io.StringIO(_read_text(path), newline=""), strict=True)
    rows = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise AtparError(
                    f"{path}, line {reader.line_num}: expected {len(reader.fieldnames or [])} "
                    "cells; delete the file and run snakemake again"
                )
            rows.append(row)
    except csv.Error as error:
        raise AtparError(f"{path}, line {reader.line_num}: not CSV ({error})") from None
    return rows
