"""The schema and the option tables follow the models."""

from pathlib import Path

import pytest

from atpar import document

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


def test_every_option_has_a_meaning():
    silent = [line for line in document.options_text().splitlines() if line.endswith("|  |")]
    assert not silent
