"""The schema and the option tables follow the models."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from atpar import document
from atpar.calendar.planned import plan_calendars
from atpar.calendar.timeline import window_of
from atpar.config.exclusions import Exclusion
from atpar.config.expenses import Expense
from atpar.config.files import campaign_config, read_config
from atpar.config.load import load_plan, read_table
from atpar.money.priced import check_offers_priced, load_tariffs
from atpar.quality.metrics import Entries, metric

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config"
README = (CONFIG / "README.md").read_text(encoding="utf-8")


def test_schema_is_current():
    assert (CONFIG / "schema.json").read_text(encoding="utf-8") == document.schema_text(), (
        "run: python -m atpar.document"
    )


def test_option_tables_are_current():
    assert document.documented(README) == README, "run: python -m atpar.document"


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


def test_every_option_has_a_meaning():
    silent = [line for line in document.options_text().splitlines() if line.endswith("|  |")]
    assert not silent


def test_every_rule_that_is_cited_is_written_down():
    protocol = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    rules = re.findall(r"^- \[P(\d+)\]", protocol, flags=re.M)
    assert rules == [str(number) for number in range(1, 41)]
    files = [*(ROOT / "workflow").rglob("*.py"), *CONFIG.rglob("*.*"), ROOT / "README.md"]
    cited = {one for file in files for one in re.findall(r"\[P(\d+)\]", file.read_text("utf-8"))}
    assert cited and cited <= set(rules)


@pytest.fixture
def followed(tmp_path, monkeypatch):
    """Return a clone's folder in which the files that config/README.md shows were written."""
    for name in ("config", "resources/tariffs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "config" / "mine").mkdir(exist_ok=True)
    for name in ("expenses.tsv", "exclusions.tsv"):
        shutil.copy(CONFIG / name, tmp_path / "config" / "mine")
    shown = re.findall(r"^`(\S+)`:\n\n```\w*\n(.*?)^```$", README, flags=re.M | re.S)
    assert shown
    for name, text in shown:
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("files", [["mine.yaml"], ["mine.yaml", "mine/rehearsal.yaml"]])
def test_the_campaign_shown_is_whole_priced_and_fits_its_calendar(files):
    plan = load_plan(campaign_config(f"config/{name}" for name in files))
    check_offers_priced(plan)
    tables = plan.campaign.tables
    read_table(Path(tables.expenses), Expense, "expense", may_be_empty=True)
    read_table(Path(tables.exclusions), Exclusion, "attempt_id", may_be_empty=True)
    for entries in plan_calendars(plan).values():
        assert window_of(entries).length.total_seconds() > 3600


def test_both_kinds_of_price_are_shown(followed):
    prices = load_tariffs([followed / "config" / "mine" / "tariffs.csv"])
    assert {one.billing for one in prices} == {"package", "hourly"}


@pytest.mark.usefixtures("followed")
def test_nothing_of_the_example_is_left_in_the_campaign_shown():
    mine = stated(read_config(["config/mine.yaml"]))
    example = stated(read_config(["config/config.yaml"]))
    inherited = [one for one in example if not any(f"{one}.".startswith(f"{its}.") for its in mine)]
    assert not inherited


def stated(config, prefix=""):
    """Return the dotted names of the values that a configuration states, sections aside."""
    names = []
    for key, value in config.items():
        inner = isinstance(value, dict)
        names += stated(value, f"{prefix}{key}.") if inner else [f"{prefix}{key}"]
    return names


def test_the_metric_shown_is_called_as_described(tmp_path, monkeypatch):
    shown = re.search(r"^```python\n(.*?)^```$", README, flags=re.M | re.S)[1]
    (tmp_path / "metric_shown.py").write_text(shown, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    answers = [np.array(codes, np.int32) for codes in ([0, 0, 1, 1], [0, 1, 0, 1])]
    entries = Entries(labels=["urgent", "other"], reference=answers[0], predicted=answers[1])
    assert metric("metric_shown:cost_of_errors", entries).value == -(10 + 1) / 4
