"""A series varies one option; whatever else differs is listed [P10]."""

from atpar.config.variants import Variant
from atpar.protocol.series import check_series


def rows(*variants):
    """Return variants of one series as plain values."""
    return [
        Variant(**{"series": "s", "batch_size": 8, **options}).model_dump() for options in variants
    ]


def test_one_option_is_a_series():
    (found,) = check_series(rows({"variant": "a", "batch_size": 1}, {"variant": "b"}))
    assert found.varies == ("batch_size",)
    assert found.problem is None


def test_two_options_are_listed():
    (found,) = check_series(
        rows({"variant": "a"}, {"variant": "b", "batch_size": 4, "precision": "bf16"})
    )
    assert set(found.varies) == {"batch_size", "precision"}
    assert "2 options at once" in found.problem
    assert "a, b" in found.problem


def test_options_that_need_each_other_count_as_one():
    (found,) = check_series(
        rows(
            {"variant": "a"},
            {"variant": "b", "batch_size": None, "token_budget": 512},
        )
    )
    assert found.varies == ("batch_size",)
    (found,) = check_series(
        rows({"variant": "a"}, {"variant": "b", "padding": "multiple_of", "pad_multiple": 8})
    )
    assert found.varies == ("padding",)


def test_names_are_no_options_and_one_setting_twice_is_said():
    (found,) = check_series(rows({"variant": "a"}, {"variant": "b", "recovers": "a"}))
    assert found.varies == ()
    assert "one setting" in found.problem
    assert check_series(rows({"variant": "a"}, {"variant": "b"}), control=["a", "b"]) == []


def test_series_are_judged_apart():
    found = check_series(
        [*rows({"variant": "a"}), *rows({"variant": "b", "series": "t", "precision": "bf16"})]
    )
    assert [(one.name, one.problem) for one in found] == [("s", None), ("t", None)]
