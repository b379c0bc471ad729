"""Configurations and tables: a plan or one clean message, and one meaning from file and flag."""

from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atpar.calendar.planned import planned_starts, window_summary
from atpar.calendar.tasks import Task, read_tasks
from atpar.config.exclusions import Exclusion
from atpar.config.expenses import Expense
from atpar.config.files import read_config
from atpar.config.load import check, load_plan, read_table
from atpar.config.offers import Offer
from atpar.config.overrides import with_overrides
from atpar.config.variants import Variant
from atpar.decision.attempts import read_exclusions
from atpar.errors import AtparError
from atpar.money.keep import read_expenses
from atpar.money.priced import check_offers_priced, load_tariffs

EFFORT = settings.get_profile("fuzz")
REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text(encoding="utf-8"))
NOW = datetime(2026, 12, 7, 9, tzinfo=UTC)
OFFERS = ["here", "card"]
ATTEMPTS = ["card/b1/1/1", "card/b1/2/1"]
TABLES = {
    "variants": (Variant, lambda path: read_table(path, Variant, "variant")),
    "offers": (Offer, lambda path: read_table(path, Offer, "offer")),
    "calendar": (Task, read_tasks),
    "expenses": (Expense, lambda path: read_expenses(path, OFFERS)),
    "exclusions": (Exclusion, lambda path: list(read_exclusions(path, ATTEMPTS).values())),
}
"""What a row of each table is, and the product's own reader of it."""
SOUND = {
    "variants": [
        {"variant": "b1", "series": "first", "batch_size": "1", "precision": "fp32"},
        {
            "variant": "b8",
            "token_budget": "4096",
            "order": "length",
            "padding": "multiple_of",
            "pad_multiple": "8",
            "max_length": "128",
            "processes": "2",
        },
    ],
    "offers": [
        {"offer": "here", "provider": "this-machine", "gpu": "two-threads", "billing": "hourly"},
        {
            "offer": "card",
            "provider": "iteragpu",
            "gpu": "rtx-4090",
            "billing": "package",
            "lots": "2",
            "term_days": "3",
            "further_terms_days": "7,30",
            "egress_gb": "1.5",
            "partition": "gpu",
        },
    ],
    "calendar": [
        {"task": "install", "duration": "30min", "start": "2026-12-07T09:00", "zone": "UTC"},
        {
            "task": "wait",
            "kind": "wait",
            "after": "install",
            "end": "2026-12-07T12:00",
            "offer": "card",
            "rental": "stopped",
        },
        {"task": "measure", "kind": "passes", "duration": "1.5h", "after": "install"},
    ],
    "expenses": [
        {"expense": "fee", "offer": "card", "unit_price": "12.50", "grounds": "bank fee"},
        {
            "expense": "labels",
            "offer": "here",
            "variant": "b1",
            "quantity": "200",
            "unit": "entry",
            "unit_price": "0.05",
            "currency": "USD",
            "grounds": "contract",
        },
    ],
    "exclusions": [
        {"attempt_id": name, "cause": "power cut", "evidence": "ticket 7"} for name in ATTEMPTS
    ],
}
"""Rows that each table may have."""

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["none", "all", "1", "1e3", "no", "22:30", "2026-13-01", "nan", "../x", "CON", "b1", "label"]
)
numbers = st.integers(-(2**70), 2**70) | st.integers(-3, 3) | st.floats()
scalars = st.none() | st.booleans() | numbers | text | st.dates() | st.datetimes()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


def places(tree, path=()):
    """Return the path of every value in the configuration."""
    found = [path] if path else []
    inner = tree.items() if isinstance(tree, dict) else ()
    return found + [one for key, value in inner for one in places(value, (*path, key))]


PLACES = places(CONFIG)


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def refused_or_read(action):
    """Run `action`; an AtparError is as good as a result, and says something on one page."""
    try:
        action()
    except AtparError as error:
        assert str(error).strip()
        assert "Traceback" not in str(error)


def planned(config):
    """Plan with a configuration as the Snakefile does; return what a dry run shows."""
    plan = load_plan(config, REPOSITORY)
    tariffs = load_tariffs(plan.campaign.tables.tariffs, REPOSITORY)
    check_offers_priced(plan, tariffs)
    assert planned_starts(plan, folder=REPOSITORY, now=NOW)
    return window_summary(plan, folder=REPOSITORY, now=NOW, tariffs=tariffs)


@EFFORT
@given(data=st.data())
def test_any_change_of_the_configuration_gives_a_plan_or_one_message(data):
    config = deepcopy(CONFIG)
    path = data.draw(st.sampled_from(PLACES))
    parent = at(config, path[:-1])
    kind = data.draw(st.sampled_from(["set", "delete", "add"]))
    if kind == "set":
        parent[path[-1]] = data.draw(values)
    elif kind == "delete":
        del parent[path[-1]]
    else:
        parent[data.draw(text | scalars.filter(lambda one: one == one))] = data.draw(values)
    refused_or_read(lambda: planned(config))


def test_the_configuration_that_is_changed_is_planned_as_it_is():
    assert "Calendar and candidates" in planned(CONFIG)


@EFFORT
@given(config=values)
def test_anything_at_all_as_configuration_gives_one_message(config):
    refused_or_read(lambda: load_plan(config, REPOSITORY))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


@EFFORT
@given(key=st.sampled_from(list(CONFIG)), value=plain, written=plain)
def test_a_value_means_the_same_in_a_file_and_on_the_command_line(folder, key, value, written):
    below, above = folder / "below.yaml", folder / "above.yaml"
    below.write_text(yaml.safe_dump({key: written}), encoding="utf-8")
    above.write_text(yaml.safe_dump({key: value}), encoding="utf-8")
    flow = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    argument = f"{key}={flow.removesuffix(chr(10) + '...' + chr(10)).rstrip(chr(10))}"
    from_files = read_config([below, above])
    assert with_overrides(read_config([below]), [argument]) == from_files


@EFFORT
@given(content=st.binary(max_size=40) | text.map(str.encode))
@example(content=b"0000-00-00")
def test_any_bytes_as_configuration_file_are_read_or_refused(folder, content):
    path = folder / "any.yaml"
    path.write_bytes(content)
    refused_or_read(lambda: read_config([path]))


@EFFORT
@example(argument="0000-00-00", config={})
@given(argument=text, config=st.dictionaries(text, plain, max_size=2))
def test_any_flag_is_merged_or_refused(argument, config):
    refused_or_read(lambda: with_overrides(config, [argument, f"corpus={argument}"]))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("configuration")


known = """
010 1e3 NA no -1 0 ½ 1,5 22:30 2026-12-07T09:00 Europe/Berlin b1 card install measure passes stopped
multiple_of card/b1/1/1
"""
cells = text | numbers.map(str) | st.sampled_from(known.split())
"""A cell: anything, or what has a meaning in another row or column."""


def sound_rows(name):
    """Return the header and the rows of a table, each as long as the header."""
    header = list(dict.fromkeys(column for row in SOUND[name] for column in row))
    return header, [[row.get(column, "") for column in header] for row in SOUND[name]]


def write_rows(path, header, rows):
    lines = ["\t".join(row) for row in [header, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


@pytest.mark.parametrize("name", TABLES)
def test_rows_that_are_changed_are_sound_before(folder, name):
    _, read = TABLES[name]
    header, rows = sound_rows(name)
    path = folder / f"{name}.tsv"
    write_rows(path, header, rows)
    assert len(read(path)) == len(rows)


@pytest.mark.parametrize("name", TABLES)
@EFFORT
@given(data=st.data())
def test_any_change_of_a_cell_gives_rows_or_one_message(folder, name, data):
    _, read = TABLES[name]
    header, rows = sound_rows(name)
    for _ in range(data.draw(st.integers(1, 2))):
        row, column = data.draw(st.sampled_from(rows)), data.draw(st.integers(0, len(header) - 1))
        row[column] = data.draw(cells)
    kind = data.draw(st.sampled_from(["as it is", "a column less", "twice", "commented"]))
    if kind == "a column less":
        gone = data.draw(st.integers(0, len(header) - 1))
        header, *rows = ([*line[:gone], *line[gone + 1 :]] for line in (header, *rows))
    elif kind == "twice":
        rows.append(list(data.draw(st.sampled_from(rows))))
    elif kind == "commented":
        rows.insert(0, ["# " + data.draw(text)])
    path = folder / f"{name}.tsv"
    write_rows(path, header, rows)
    refused_or_read(lambda: read(path))


@pytest.mark.parametrize("name", TABLES)
@EFFORT
@given(data=st.data())
def test_any_cells_give_rows_or_one_message(folder, name, data):
    model, read = TABLES[name]
    columns = data.draw(
        st.lists(st.sampled_from([*model.model_fields]) | text, min_size=1, max_size=6)
    )
    rows = data.draw(st.lists(st.lists(cells, min_size=0, max_size=7), max_size=4))
    path = folder / f"{name}.tsv"
    write_rows(path, columns, rows)
    refused_or_read(lambda: read(path))


@pytest.mark.parametrize("name", TABLES)
@EFFORT
@given(content=st.binary(max_size=60), below=st.booleans())
def test_any_bytes_give_rows_or_one_message(folder, name, content, below):
    _, read = TABLES[name]
    header, rows = sound_rows(name)
    path = folder / f"{name}.tsv"
    write_rows(path, header, rows)
    before = path.read_bytes() if below else header[0].encode() + b"\t"
    path.write_bytes(before + content)
    refused_or_read(lambda: read(path))


@EFFORT
@given(
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,6}", fullmatch=True),
    batch_size=st.integers(1, 9999),
    warm=st.sampled_from(["fp32", "bf16"]),
)
def test_a_written_variant_comes_back(folder, name, batch_size, warm):
    values = {"variant": name, "batch_size": batch_size, "precision": warm}
    try:
        wanted = check(Variant, values, "row")
    except AtparError:
        return  # a name that can't be a folder
    path = folder / "one.tsv"
    path.write_text("\t".join(values) + "\n" + "\t".join(map(str, values.values())) + "\n")
    assert read_table(path, Variant, "variant") == [wanted]
