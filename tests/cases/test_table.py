"""The table in README.md is complete, and every row has its tests."""

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
IDS = re.findall(
    r"[A-Z][0-9]+",
    """
    C01 C02 C03 C04 C06 C08 C09 C12 C13 C14 C16 C17 C18
    T01 T02 T04 T06 T07 T09 T10 T14 T15 T16 T18 T19 T20 T21 T22 T23 T24 T25
    M01 M03 M05 M06 M08 M09 M10 M12 M13 M14 M15 M16 M17 M18 M19 M20 M22 M23
    Q02 Q03 Q07 Q08
    K01 K03 K04 K08 K09 K11 K12
    W01 W04 W06 W07 W08 W10 W11 W12 W13 W14
    """,
)
ANSWERS = ("handles", "refuses", "records", "can't occur")


def table():
    """Return id -> (kind, what the product does, tests) of the README's rows."""
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    rows = [row for row in cells if re.fullmatch(r"[A-Z]\d\d", row[0])]
    assert all(len(row) == 4 for row in rows)
    return [(row[0], row[1:]) for row in rows]


def names_in(path):
    """Return the names of a file's tests."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    functions = [one.name for one in body if isinstance(one, ast.FunctionDef)]
    return [name for name in functions if name.startswith("test_")]


def test_every_case_has_one_row_that_says_what_is_done():
    assert [case for case, _ in table()] == IDS
    for case, (kind, does, tests) in table():
        assert kind and tests, case
        assert does.startswith(ANSWERS), case


def test_the_tests_of_every_row_are_there():
    for case, (_, _, tests) in table():
        named = re.findall(r"`([^`]+)`", tests)
        own = [name for name in named if "::" in name]
        assert len(own) == 1, case
        file, _, pattern = own[0].partition("::")
        assert pattern == f"test_{case.lower()}_*"
        assert any(name.startswith(pattern[:-1]) for name in names_in(FOLDER / file)), case
        for other in set(named) - set(own):
            assert (REPOSITORY / other).is_file(), other


def test_every_test_of_a_case_has_a_row():
    named = {
        name: re.match(r"test_([a-z]\d\d)_", name)
        for path in sorted(FOLDER.glob("test_*_cases.py"))
        for name in names_in(path)
    }
    assert [name for name, found in named.items() if found is None] == []
    assert {found[1].upper() for found in named.values()} <= set(IDS)
