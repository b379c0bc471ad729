"""Single values as text."""

import pytest

from atpar.report import values
from atpar.report.tables import Column, table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("220", "220.00"),
        ("2071.00", "2,071.00"),
        ("0.00012", "0.00012"),
        ("1E+3", "1,000.00"),
        ("-5.5", "-5.50"),
        ("NaN", "NaN"),
        ("about 5", "about 5"),
    ],
)
def test_money_is_exact(value: str, text: str) -> None:
    assert values.money(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("6.5", "6.50"),
        ("123.456", "123.5"),
        ("12345.6", "12,346"),
        ("0.0118", "0.0118"),
        ("0", "0.00"),
        ("x", "x"),
        ("inf", "inf"),
    ],
)
def test_seconds(value: str, text: str) -> None:
    assert values.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("512", "512 B"), ("1048576", "1.0 MiB"), ("1610612736", "1.50 GiB"), ("none", "none")],
)
def test_memory(value: str, text: str) -> None:
    assert values.memory(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-11-30T09:05:11Z", "2026-11-30 09:05:11 UTC"),
        ("2026-11-30T09:05:11.123456+00:00", "2026-11-30 09:05:11 UTC"),
        ("2026-11-30T10:05:11+01:00", "2026-11-30 10:05:11 +01:00"),
        ("Mon 2026-12-07 09:00 CET", "Mon 2026-12-07 09:00 CET"),
    ],
)
def test_instant(value: str, text: str) -> None:
    assert values.instant(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [("1000", "1,000"), ("0.012345", "0.01235"), ("3.14159", "3.14")]
)
def test_number(value: str, text: str) -> None:
    assert values.number(value) == text


def test_plain_nests() -> None:
    assert values.plain({"a": [1, None], "b": True}) == "a: 1, –; b: yes"


def test_equal_reasons_share_one_note() -> None:
    columns = [Column("Name", "name"), Column("Value", "value", reason="why")]
    rows = [{"name": str(index), "value": "", "why": f"cause {index % 30}"} for index in range(60)]
    laid = table("t", "caption", columns, rows)
    assert [note.text for note in laid.notes] == [f"cause {index}" for index in range(30)]
    assert [note.label for note in laid.notes][24:28] == ["y", "z", "aa", "ab"]
    assert laid.rows[31][1][1] == "b"


def test_column_that_the_table_lacks_is_said_so() -> None:
    laid = table("t", "caption", [Column("Name", "name")], [{}])
    assert laid.notes[0].text == "the table has no column 'name'"
