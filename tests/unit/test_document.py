"""The schema and the option tables follow the models."""

from pathlib import Path

import pytest

from atpar import document
from atpar.money.calculator import read_tariffs

CONFIG = Path(__file__).resolve().parents[2] / "config"


def test_schema_is_current():
    assert (CONFIG / "schema.json").read_text(encoding="utf-8") == document.schema_text(), (
        "run: python -m atpar.document"
    )


def test_option_tables_are_current():
    readme = (CONFIG / "README.md").read_text(encoding="utf-8")
    assert readme == document.documented(readme), "run: python -m atpar.document"


@pytest.mark.parametrize("mark", ["`protocol.tolerance.reference`", "`batch_size`", "`lots`"])
def test_options_of_sections_and_tables_are_explained(mark):
    line = next(line for line in document.options_text().splitlines() if f"| {mark} |" in line)
    assert line.rstrip("| ").count("|") == 4
    assert not line.endswith("|  |"), "an option without a meaning"


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("price_per", "| `lot`, `instance`, `gpu` | required |"),
        ("billed_from", "| `order`, `boot`, `ready` | may be empty |"),
        ("step_s", "| whole number | may be empty |"),
        ("priced_on", "| date | required |"),
    ],
)
def test_columns_of_tariff_files_are_explained(column, cells):
    assert f"| `{column}` {cells} " in document.options_text()


def test_the_tariff_file_shown_can_be_read(tmp_path):
    readme = (CONFIG / "README.md").read_text(encoding="utf-8")
    shown = next(part for part in readme.split("```") if part.startswith("\n#tariff "))
    (tmp_path / "shown.csv").write_text(shown.lstrip("\n"), encoding="utf-8")
    assert {one.billing for one in read_tariffs(tmp_path / "shown.csv")} == {"package", "hourly"}


def test_every_option_has_a_meaning():
    silent = [line for line in document.options_text().splitlines() if line.endswith("|  |")]
    assert not silent
