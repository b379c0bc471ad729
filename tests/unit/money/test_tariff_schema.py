"""The schema of tariffs and the calculator's own reader say the same."""

from dataclasses import fields
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from atpar.errors import AtparError
from atpar.money.calculator import Tariff, read_tariffs
from atpar.money.importers.common import write_tariffs
from atpar.money.schemas import TARIFFS

FOLDER = Path(__file__).parents[3] / "resources" / "tariffs"


def test_schema_and_reader_know_the_same_columns():
    known = {one.name for one in fields(Tariff)} - {"file", "line"}
    assert set(TARIFFS.columns) == known
    needed = {one.name for one in fields(Tariff) if "None" not in str(one.type)} - {"file", "line"}
    assert {name for name, one in TARIFFS.columns.items() if not one.nullable} == needed


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.csv")), ids=lambda path: path.name)
def test_every_tariff_file_is_valid_and_survives_a_round_trip(path, tmp_path):
    tariffs = read_tariffs(path)
    table = pd.read_csv(path, comment="#", dtype="str", keep_default_na=False).replace("", None)
    TARIFFS.validate(table.reindex(columns=list(TARIFFS.columns)).astype("str"), lazy=True)
    write_tariffs(tmp_path / "again.csv", tariffs, "again")
    again = read_tariffs(tmp_path / "again.csv")
    assert [one.key for one in again] == [one.key for one in tariffs]
    assert [one.price for one in again] == [one.price for one in tariffs]
    assert [one.notes for one in again] == [one.notes for one in tariffs]


def test_a_price_that_breaks_the_schema_is_not_written(tmp_path):
    faulty = Tariff(
        "acme", "a100", 1, "hourly", Decimal(1), "lot", "dollars", date(2026, 1, 1), "x"
    )
    with pytest.raises(AtparError, match="currency is 'dollars'"):
        write_tariffs(tmp_path / "t.csv", [faulty], "x")
    assert not (tmp_path / "t.csv").exists()
