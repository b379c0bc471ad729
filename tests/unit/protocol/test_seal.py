"""A sealed protocol doesn't change after the first pass."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atpar.canonical import canonical_json, digest, read_json, write_json
from atpar.errors import AtparError
from atpar.protocol.seal import seal_protocol, sealed_content
from atpar.protocol.unchanged import check_seal

CORPUS = Path("evaluation.parquet")
"""Only opened where a campaign follows another one whose corpus is here."""


@pytest.fixture
def fingerprint(tmp_path):
    path = tmp_path / "fingerprint.json"
    write_json(path, {"evaluation_digest": "e1", "reference_digest": "r1", "rows_in": 3})
    return path


@pytest.fixture
def seal(tmp_path, fingerprint):
    path = tmp_path / "results/first/protocol/seal.json"
    seal_protocol({"minimum": 0.9, "repetitions": 5}, fingerprint, CORPUS, path)
    return path


def test_the_digest_covers_protocol_corpus_and_reference(tmp_path, fingerprint, seal):
    digests = {read_json(seal)["digest"]}
    for protocol, corpus in [
        ({"minimum": 0.8, "repetitions": 5}, {}),
        ({"minimum": 0.9, "repetitions": 5}, {"evaluation_digest": "e2"}),
        ({"minimum": 0.9, "repetitions": 5}, {"reference_digest": "r2"}),
    ]:
        write_json(fingerprint, {"evaluation_digest": "e1", "reference_digest": "r1", **corpus})
        seal_protocol(protocol, fingerprint, CORPUS, tmp_path / "elsewhere/one/protocol/seal.json")
        digests.add(read_json(tmp_path / "elsewhere/one/protocol/seal.json")["digest"])
    assert len(digests) == 4


def test_the_same_content_has_the_same_digest(tmp_path, fingerprint, seal):
    write_json(fingerprint, {"evaluation_digest": "e1", "reference_digest": "r1", "rows_in": 4})
    seal_protocol(
        {"repetitions": 5, "minimum": 0.9},
        fingerprint,
        CORPUS,
        tmp_path / "elsewhere/one/protocol/seal.json",
    )
    assert (
        read_json(tmp_path / "elsewhere/one/protocol/seal.json")["digest"]
        == read_json(seal)["digest"]
    )


def test_a_moved_threshold_stops_the_workflow_with_both_values(seal):
    with pytest.raises(AtparError) as stopped:
        check_seal({"minimum": 0.8, "repetitions": 5}, seal, measured=True)
    message = str(stopped.value)
    assert "-minimum: 0.9" in message and "+minimum: 0.8" in message
    assert "repetitions" not in message
    assert "new campaign" in message and "restore" in message


def test_before_the_first_pass_it_may_change(seal):
    check_seal({"minimum": 0.8, "repetitions": 5}, seal, measured=False)


def test_an_unchanged_protocol_goes_on(seal):
    check_seal({"repetitions": 5, "minimum": 0.9}, seal, measured=True)


def test_without_a_seal_there_is_nothing_to_compare(tmp_path):
    check_seal({"minimum": 0.8}, tmp_path / "none.json", measured=True)


def test_the_canonical_text_is_what_the_digest_covers(seal):
    written = read_json(seal)
    assert hashlib.sha256(written["canonical"].encode()).hexdigest() == written["digest"]


@pytest.mark.usefixtures("seal")
def test_another_protocol_on_the_same_corpus_is_named(tmp_path, fingerprint):
    second = tmp_path / "results/second/protocol/seal.json"
    seal_protocol({"minimum": 0.8, "repetitions": 5}, fingerprint, CORPUS, second)
    assert read_json(second)["other_protocols_on_this_corpus"] == {"first": "minimum"}


@pytest.mark.usefixtures("seal")
def test_a_moved_threshold_on_the_corpus_of_the_campaign_it_follows_is_refused(
    tmp_path, fingerprint
):
    second = tmp_path / "results/second/protocol/seal.json"
    with pytest.raises(AtparError, match=r"follows 'first' with a changed protocol \(minimum\)"):
        seal_protocol(
            {"minimum": 0.8, "repetitions": 5}, fingerprint, CORPUS, second, follows="first"
        )
    assert not second.exists()


@pytest.mark.usefixtures("seal")
@pytest.mark.parametrize(
    ("protocol", "corpus"),
    [
        ({"minimum": 0.9, "repetitions": 5}, {"evaluation_digest": "e1", "reference_digest": "r1"}),
        ({"minimum": 0.8, "repetitions": 5}, {"evaluation_digest": "e2", "reference_digest": "r2"}),
    ],
    ids=["same protocol", "independent corpus"],
)
def test_the_same_question_or_an_independent_corpus_may_follow(
    tmp_path, fingerprint, protocol, corpus
):
    write_json(fingerprint, corpus)
    second = tmp_path / "results/second/protocol/seal.json"
    seal_protocol(protocol, fingerprint, CORPUS, second, follows="first")
    assert read_json(second)["other_protocols_on_this_corpus"] == {}


def test_entries_that_both_corpora_hold_are_counted(tmp_path, fingerprint, seal):
    texts = {"one": "a", "two": "b", "three": "c"}
    earlier = seal.parents[1] / "corpus/evaluation.parquet"
    earlier.parent.mkdir()
    pq.write_table(pa.table({"id": list(texts), "text": list(texts.values())}), earlier)
    # The same id with another text, the same text under another id, and a new entry.
    own = tmp_path / "evaluation.parquet"
    pq.write_table(pa.table({"id": ["one", "four", "five"], "text": ["x", "b", "y"]}), own)
    write_json(fingerprint, {"evaluation_digest": "e2", "reference_digest": "r2"})
    second = tmp_path / "results/second/protocol/seal.json"
    seal_protocol({"minimum": 0.8}, fingerprint, own, second, follows="first")
    assert read_json(second)["overlap"] == {"campaign": "first", "entries": 2, "of": 3}


def test_the_seal_says_when_it_was_made(seal):
    made = datetime.fromisoformat(read_json(seal)["sealed_at_utc"])
    assert made.tzinfo is not None
    assert abs((datetime.now(UTC) - made).total_seconds()) < 60


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
PROTOCOLS = st.dictionaries(st.text(max_size=4), VALUES, max_size=5)
FACTS = {"evaluation_digest": "e1", "reference_digest": "r1"}


def shuffled(value, draw):
    """Return an equal value whose keys stand in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    return [shuffled(one, draw) for one in value] if isinstance(value, list) else value


@settings(max_examples=60, deadline=None)
@given(PROTOCOLS, st.data())
def test_the_order_of_keys_changes_no_seal(protocol, data):
    other = sealed_content(shuffled(protocol, data.draw), FACTS)
    assert digest(other) == digest(sealed_content(protocol, FACTS))


@settings(max_examples=100, deadline=None)
@given(PROTOCOLS, PROTOCOLS)
def test_two_protocols_have_one_seal_only_if_they_say_the_same(first, other):
    digests = {digest(sealed_content(one, FACTS)) for one in (first, other)}
    assert (len(digests) == 1) == (canonical_json(first) == canonical_json(other))


@settings(max_examples=60, deadline=None)
@given(PROTOCOLS, PROTOCOLS)
def test_once_measured_a_protocol_goes_on_only_as_it_was_sealed(first, other):
    with TemporaryDirectory() as folder:
        seal = Path(folder, "seal.json")
        write_json(seal, {"sealed": sealed_content(first, FACTS)})
        check_seal(read_json(seal)["sealed"]["protocol"], seal, measured=True)
        check_seal(other, seal, measured=False)
        if other != first:
            with pytest.raises(AtparError, match="sealed before the first pass"):
                check_seal(other, seal, measured=True)


def test_without_the_earlier_corpus_the_overlap_is_unknown(tmp_path, fingerprint):
    second = tmp_path / "results/second/protocol/seal.json"
    seal_protocol({"minimum": 0.8}, fingerprint, CORPUS, second, follows="first")
    assert read_json(second)["overlap"] is None
