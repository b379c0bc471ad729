"""Journals: every record comes back; a damaged file is read or refused, and stays appendable."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atpar.errors import AtparError
from atpar.journal import attempts, journal

EFFORT = settings.get_profile("fuzz")

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
records = st.dictionaries(text, values, max_size=5)
events = st.lists(
    st.builds(
        lambda kind, name, record: {"event": kind, "attempt_id": name, "record": record},
        st.sampled_from(["started", "finished", "note"]),
        st.sampled_from(["a/b/1/1", "a/b/1/2", "a/c/1/1"]),
        records,
    ),
    max_size=6,
)


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("journal") / "here.jsonl"


@EFFORT
@given(written=events)
def test_every_record_comes_back(path, written):
    path.unlink(missing_ok=True)
    for event in written:
        journal.append(path, event)
    assert journal.read(path) == written
    started = {event["attempt_id"] for event in written if event["event"] == "started"}
    try:
        found = attempts.read_attempts(path)
    except AtparError as error:
        assert "never started" in str(error)
    else:
        assert len(found) == len(started)


@EFFORT
@given(written=events, place=st.integers(0, 400), damage=st.binary(max_size=6), cut=st.booleans())
def test_a_damaged_journal_is_read_or_refused(path, written, place, damage, cut):
    path.unlink(missing_ok=True)
    journal.extend(path, written)
    content = path.read_bytes() if path.exists() else b""
    path.write_bytes(content[:place] + damage + (b"" if cut else content[place:]))
    for reader in (journal.read, attempts.read_attempts, attempts.unfinished):
        try:
            reader(path)
        except AtparError as error:
            assert str(path) in str(error)


@EFFORT
@given(written=events, torn=st.integers(1, 60), event=events.filter(bool))
def test_a_torn_line_costs_nothing_that_was_whole(path, written, torn, event):
    path.unlink(missing_ok=True)
    journal.extend(path, written)
    content = path.read_bytes() if path.exists() else b""
    path.write_bytes(content[:-torn])
    whole = journal.read(path)
    assert whole == written[: len(whole)]
    journal.append(path, event[0])
    assert journal.read(path) == [*whole, event[0]]
