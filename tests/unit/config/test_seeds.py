"""Several seeds are shared by all variants, and what can't hold with them is refused [P23]."""

import pytest
from pydantic import ValidationError

from atpar.config.protocol import Protocol

PLAIN = {"tolerance": {"reference": "b1"}, "reproduction": {"kind": "acceptable"}}


def test_seeds_are_taken_as_they_are_listed():
    assert Protocol(**PLAIN, seeds=[3, 1, 2]).seeds == [3, 1, 2]
    assert Protocol(**PLAIN).seeds is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": [1, 1]}, "one seed twice"),
        ({"seeds": [1]}, "at least 2 items"),
        ({"seeds": [1, -1]}, "greater than or equal to 0"),
        ({"seeds": [1, 2, 3], "repetitions": 2}, "3 seeds need as many repetitions; there are 2"),
        ({"seeds": [1, 2], "reproduction": {"kind": "identical"}}, "only the quality"),
        ({"seeds": [1, 2], "reproduction": {"kind": "bounded"}}, "only the quality"),
    ],
)
def test_seeds_that_cannot_be_kept_apart_are_refused(changes, words):
    with pytest.raises(ValidationError, match=words):
        Protocol(**{**PLAIN, **changes})
