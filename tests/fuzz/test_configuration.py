"""Configurations and tables: a plan or one clean message, and one meaning from file and flag."""

import os
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atpar.calendar.tasks import Task
from atpar.config.exclusions import Exclusion
from atpar.config.expenses import Expense
from atpar.config.files import read_config
from atpar.config.load import check, load_plan, read_table
from atpar.config.offers import Offer
from atpar.config.overrides import with_overrides
from atpar.config.variants import Variant
from atpar.errors import AtparError

EFFORT = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "20")), deadline=None)
REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text(encoding="utf-8"))
TABLES = {
    "variants": (Variant, "variant"),
    "offers": (Offer, "offer"),
    "calendar": (Task, "row_name"),
    "expenses": (Expense, "item"),
    "exclusions": (Exclusion, "attempt_id"),
}

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
    refused_or_read(lambda: load_plan(config, REPOSITORY))


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


@pytest.mark.parametrize("name", TABLES)
@EFFORT
@given(data=st.data())
def test_any_cells_give_rows_or_one_message(folder, name, data):
    model, key = TABLES[name]
    columns = data.draw(
        st.lists(st.sampled_from([*model.model_fields]) | text, min_size=1, max_size=6)
    )
    cells = st.lists(text | numbers.map(str), min_size=0, max_size=7)
    rows = data.draw(st.lists(cells, max_size=4))
    path = folder / f"{name}.tsv"
    path.write_text("\n".join("\t".join(row) for row in [columns, *rows]), encoding="utf-8")
    refused_or_read(lambda: read_table(path, model, key))


@pytest.mark.parametrize("name", TABLES)
@EFFORT
@given(content=st.binary(max_size=60))
def test_any_bytes_give_rows_or_one_message(folder, name, content):
    model, key = TABLES[name]
    path = folder / f"{name}.tsv"
    path.write_bytes(key.encode() + b"\t" + content)
    refused_or_read(lambda: read_table(path, model, key))


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
