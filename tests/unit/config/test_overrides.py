"""The command line means what the file means."""

import pytest
import yaml

from atpar.config.overrides import with_overrides
from atpar.errors import AtparError


@pytest.mark.parametrize(
    "text",
    [
        "0.8",
        "true",
        "null",
        "'22:30'",
        "22:30",
        "two-threads",
        "[a, b]",
        "{a: {b: 1.5, c: x}}",
        "''",
    ],
)
def test_a_value_is_read_as_in_the_file(text):
    assert with_overrides({}, [f"key={text}"])["key"] == yaml.safe_load(f"key: {text}")["key"]


def test_nested_values_are_merged_over_the_file_with_their_types():
    config = {"protocol": {"minimum": "0.8", "repetitions": 5}, "here": "all"}
    merged = with_overrides(config, ["protocol={minimum: 0.8}", "here=node"])
    assert merged == {"protocol": {"minimum": 0.8, "repetitions": 5}, "here": "node"}


def test_a_value_may_hold_an_equals_sign():
    assert with_overrides({}, ["key=a=b"]) == {"key": "a=b"}


def test_what_is_no_yaml_is_refused():
    with pytest.raises(AtparError, match="single quotes"):
        with_overrides({}, ["protocol={minimum: 0.8"])
