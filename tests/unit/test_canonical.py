"""Canonical JSON and whole-file writes."""

import math
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.canonical import canonical_json, digest, file_digest, read_json, whole_file, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_the_order_of_keys_does_not_matter(value):
    backwards = dict(reversed(list(value.items())))
    assert canonical_json(value) == canonical_json(backwards)
    assert digest(value) == digest(backwards)


def test_different_values_differ():
    assert digest({"a": 1, "b": 2}) != digest({"a": 2, "b": 1})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_json_has_no_word_for_is_refused(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"x": value})


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"whole": True})
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text('{"who')
        raise RuntimeError
    assert read_json(path) == {"whole": True}
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_written_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_json(tmp_path / "file.json", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file.json").stat().st_mode) == 0o640


def test_folders_on_the_way_are_made(tmp_path):
    write_json(tmp_path / "a/b/c.json", [1])
    assert read_json(tmp_path / "a/b/c.json") == [1]


def test_file_digest_is_sha256(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert file_digest(tmp_path / "file").startswith("ba7816bf8f01cfea")
