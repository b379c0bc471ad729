"""The corpus' columns can't be mistaken for the product's own."""

import pytest
from pydantic import ValidationError

from atpar.config.corpus import Columns


@pytest.mark.parametrize("name", ["id", "text", "label", "split", "order", "tokens", "bucket"])
def test_a_subgroup_may_not_take_an_own_name(name):
    with pytest.raises(ValidationError, match="own"):
        Columns(subgroups=["language", name])


def test_a_subgroup_is_named_once():
    with pytest.raises(ValidationError, match="twice"):
        Columns(subgroups=["language", "language"])
    assert Columns(subgroups=["language", "domain"]).subgroups == ["language", "domain"]
