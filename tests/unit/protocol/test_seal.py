"""A sealed protocol doesn't change after the first pass."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.canonical import read_json, write_json
from atpar.errors import AtparError
from atpar.protocol.seal import seal_protocol
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


def test_without_the_earlier_corpus_the_overlap_is_unknown(tmp_path, fingerprint):
    second = tmp_path / "results/second/protocol/seal.json"
    seal_protocol({"minimum": 0.8}, fingerprint, CORPUS, second, follows="first")
    assert read_json(second)["overlap"] is None
