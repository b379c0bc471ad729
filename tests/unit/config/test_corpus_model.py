"""The corpus' columns can't be mistaken for the product's own."""

import pytest
from pydantic import ValidationError

from atpar.config.corpus import Columns, Dialect


@pytest.mark.parametrize("name", ["id", "text", "label", "split", "order", "tokens", "bucket"])
def test_a_subgroup_may_not_take_an_own_name(name):
    with pytest.raises(ValidationError, match="own"):
        Columns(subgroups=["language", name])


def test_a_subgroup_is_named_once():
    with pytest.raises(ValidationError, match="twice"):
        Columns(subgroups=["language", "language"])
    assert Columns(subgroups=["language", "domain"]).subgroups == ["language", "domain"]


@pytest.mark.parametrize("name", ["delimiter", "quote"])
@pytest.mark.parametrize("character", ["¬", "│", "\n", "\r", "\0"])
def test_a_dialect_is_of_single_bytes_that_end_no_line(name, character):
    with pytest.raises(ValidationError, match=f"dialect.{name} is .*one ASCII character"):
        Dialect(**{name: character})


def test_a_dialect_tells_its_two_characters_apart():
    with pytest.raises(ValidationError, match="are both '\\|'"):
        Dialect(delimiter="|", quote="|")
    assert Dialect(delimiter="\t", quote="'").delimiter == "\t"
