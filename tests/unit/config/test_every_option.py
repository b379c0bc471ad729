"""Of every option: a wrong type is told with place and value, a misspelling with the right name."""

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from atpar.config.campaign import Campaign
from atpar.config.load import check
from atpar.errors import AtparError

REPOSITORY = Path(__file__).resolve().parents[3]
WRITTEN = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text(encoding="utf-8"))
CONFIG = check(Campaign, WRITTEN, "configuration").model_dump(mode="json")
"""The shipped configuration with every default written out."""
WRONG = [True, 3, 2.5, "some text", ["some text"], {"some": "text"}, None]
FREE = {"corpus.label_map", "money.rates", "protocol.subgroup_values"}
"""Options whose keys a person chooses."""


def places(tree, path=()):
    """Return the path of every option that is written."""
    found = []
    for key, value in tree.items():
        found.append((*path, key))
        if isinstance(value, dict) and ".".join((*path, key)) not in FREE:
            found += places(value, (*path, key))
    return found


PLACES = places(CONFIG)


def changed(path, change):
    """Return the configuration with `change(parent, key)` made at a path."""
    config = deepcopy(CONFIG)
    parent = config
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return config


def message_of(config):
    """Return what is said of a configuration; empty where nothing is wrong."""
    try:
        check(Campaign, config, "configuration")
    except AtparError as error:
        return str(error)
    return ""


def test_the_shipped_configuration_is_right():
    assert message_of(CONFIG) == ""
    assert len(PLACES) > 60


@pytest.mark.parametrize("path", PLACES, ids=".".join)
def test_a_value_of_another_type_is_refused_with_place_and_value(path):
    refused = 0
    for wrong in WRONG:
        said = message_of(
            changed(path, lambda parent, key, wrong=wrong: parent.update({key: wrong}))
        )
        if said:
            refused += 1
            place = ".".join(path)
            assert place in said or path[-1] in said, said
            # Options that go together are told by name, unknown ones and missing ones by place.
            told = (
                repr(wrong),
                "'some text'",
                "'text'",
                "unknown option",
                "missing",
                f"`{path[-1]}`",
            )
            assert any(one in said for one in told), said
            assert "pydantic" not in said
    assert refused >= 3, f"{path} takes nearly anything"


@pytest.mark.parametrize("path", PLACES, ids=".".join)
def test_a_misspelt_option_is_told_the_right_one(path):
    name = path[-1]
    misspelt = name + "x" if len(name) < 5 else name[:1] + name[2:]

    def misspell(parent, key):
        parent[misspelt] = parent.pop(key)

    said = message_of(changed(path, misspell))
    assert f"unknown option '{'.'.join((*path[:-1], misspelt))}'" in said
    assert f"did you mean {name!r}?" in said, said
