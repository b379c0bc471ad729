"""The split's tables and fingerprint say the same, and only what they cover changes a digest."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from atpar.canonical import read_json, write_json
from atpar.corpus import entries as split_tables
from atpar.corpus.digests import RowDigest
from atpar.corpus.entries import Tables
from atpar.corpus.fingerprint import fingerprint_corpus
from atpar.corpus.notes import corpus_notes
from atpar.corpus.split import split_buckets
from atpar.errors import AtparError

SAMPLE = {
    "seed": 3,
    "order": "shuffled",
    "rare_classes": "keep",
    "buckets": [
        {"name": "short", "up_to_tokens": 4, "entries": 6},
        {"name": "long", "up_to_tokens": None, "entries": 3},
    ],
}


@pytest.fixture
def tokenizer(tmp_path):
    """A tokenizer that gives each word one token, between [CLS] and [SEP]."""
    vocabulary = {name: n for n, name in enumerate(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "w"])}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    built.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    built.enable_truncation(3)
    built.enable_padding(length=9)
    built.save(str(tmp_path / "tokenizer.json"))
    write_json(tmp_path / "settings.json", {"tokenizer_digest": "t", "pad_token": "[PAD]"})
    return tmp_path / "tokenizer.json"


def rows(count=24, split=None):
    """Texts of 1 or 5 words; every third one is long, labels in turn a, b, b."""
    words = [5 if n % 3 == 0 else 1 for n in range(count)]
    columns = {
        "id": [f"e{n:02d}" for n in range(count)],
        "text": [" ".join(["w"] * (size - 1) + [f"x{n}"]) for n, size in enumerate(words)],
        "label": ["abb"[n // 3 % 3] for n in range(count)],
        "group": [None if n == 1 else str(n % 2) for n in range(count)],
    }
    return {**columns, "split": split} if split else columns


@pytest.fixture
def split(tmp_path, tokenizer):
    """Return a function that runs both corpus stages: (entries, evaluation, reference, facts)."""

    def run(table, sample=SAMPLE, label_map=None, empty_text="reject"):
        pq.write_table(pa.table(table), tmp_path / "c.parquet")
        columns = {
            "id": "id",
            "text": "text",
            "label": "label" if "label" in table else None,
            "split": "split" if "split" in table else None,
            "subgroups": [name for name in ("group",) if name in table],
        }
        policy = {
            "empty_text": empty_text,
            "duplicate_text": "accept",
            "control_characters": "accept",
        }
        fingerprint_corpus(
            [str(tmp_path / "c.parquet")],
            columns,
            {"delimiter": ",", "quote": '"'},
            policy,
            tmp_path / "source.parquet",
            tmp_path / "source.json",
        )
        names = ("entries", "evaluation", "reference", "tuning")
        paths = [tmp_path / f"{name}.parquet" for name in names]
        facts = split_buckets(
            tmp_path / "source.parquet",
            tmp_path / "source.json",
            tokenizer,
            tmp_path / "settings.json",
            sample,
            label_map or {},
            empty_text,
            Tables(*paths),
            tmp_path / "fingerprint.json",
        )
        assert facts == read_json(tmp_path / "fingerprint.json")
        return [pq.read_table(path).to_pylist() for path in paths[:3]] + [facts]

    return run


def test_tables_and_fingerprint_agree(split):
    entries, evaluation, reference, facts = split(rows())
    assert [entry["id"] for entry in entries] == rows()["id"]
    # Special tokens count, truncation and padding saved with the tokenizer don't.
    assert {entry["tokens"] for entry in entries} == {3, 7}
    drawn = sorted((e for e in entries if e["order"] is not None), key=lambda e: e["order"])
    assert [e["order"] for e in drawn] == list(range(9))
    assert {e["split"] for e in drawn} == {"evaluation"}
    assert evaluation == [{"id": e["id"], "text": e["text"]} for e in drawn]
    kept = ("id", "label", "tokens", "bucket", "group")
    assert reference == [{name: e[name] for name in kept} for e in drawn]
    assert facts["buckets"] == {"short": 6, "long": 3}
    assert facts["entries"] == {"evaluation": 9, "tuning": 15, "reserve": 0}
    assert facts["class_counts"] == {"short": {"a": 2, "b": 4}, "long": {"a": 1, "b": 2}}
    assert facts["rows_in"] == facts["rows_out"] == 24
    assert facts["label_set"] == ["a", "b"]
    assert facts["tokens"]["mean"] == pytest.approx((6 * 3 + 3 * 7) / 9)
    assert facts["tokens"]["max"] == 7


def test_tuning_reads_the_tuning_split_alone(split, tmp_path):
    entries, evaluation, _, _ = split(rows())
    tuning = pq.read_table(tmp_path / "tuning.parquet").to_pylist()
    expected = [{"id": e["id"], "text": e["text"]} for e in entries if e["split"] == "tuning"]
    assert tuning == expected
    assert len(tuning) == 15
    assert not {one["id"] for one in tuning} & {one["id"] for one in evaluation}


def test_the_same_corpus_gives_the_same_digests(split):
    first, again = split(rows())[3], split(rows())[3]
    assert first == again
    other = split(rows(), {**SAMPLE, "seed": 4})[3]
    assert other["corpus_digest"] != first["corpus_digest"]
    assert other["source_digest"] == first["source_digest"]


def test_each_digest_covers_its_own_columns(split):
    first = split(rows())[3]
    relabelled = split(rows(), label_map={"a": "c"})[3]
    assert relabelled["evaluation_digest"] == first["evaluation_digest"]
    assert relabelled["corpus_digest"] != first["corpus_digest"]
    assert relabelled["reference_digest"] != first["reference_digest"]
    assert relabelled["label_set"] == ["b", "c"]


def test_tuning_data_never_mixes_in_and_the_rest_is_kept_apart(split):
    marks = ["tuning" if n % 4 == 3 else "evaluation" for n in range(24)]
    entries, *_, facts = split(rows(split=marks))
    for entry, mark in zip(entries, marks, strict=True):
        assert entry["split"] == "tuning" if mark == "tuning" else entry["split"] != "tuning"
    assert facts["entries"] == {"evaluation": 9, "tuning": 6, "reserve": 9}


def test_a_misspelt_mark_is_refused(split):
    with pytest.raises(AtparError, match=r"row 2, id 'e01', column 'split': split is 'tunning'"):
        split(rows(split=["evaluation", "tunning"] * 12))


def test_without_a_sample_everything_is_evaluated_in_order(split):
    entries, evaluation, _, facts = split(rows(), sample=None)
    assert [e["id"] for e in evaluation] == rows()["id"]
    assert {e["bucket"] for e in entries} == {"all"}
    assert facts["seed"] is None
    marked = split(rows(split=["tuning"] + ["evaluation"] * 23), sample=None)
    assert len(marked[1]) == 23
    with pytest.raises(AtparError, match="none is left to evaluate"):
        split(rows(split=["tuning"] * 24), sample=None)


def test_order_of_the_source(split):
    _, evaluation, _, _ = split(rows(), {**SAMPLE, "order": "source"})
    ids = [entry["id"] for entry in evaluation]
    assert ids == sorted(ids)


def test_labels_are_optional(split):
    table = {name: values for name, values in rows().items() if name != "label"}
    entries, _, reference, facts = split(table)
    assert {e["label"] for e in entries} == {e["label"] for e in reference} == {None}
    assert facts["label_set"] == []
    assert facts["class_counts"] == {"short": {}, "long": {}}


@pytest.mark.parametrize(("rule", "drawn"), [("keep", 1), ("leave_out", 0)])
def test_a_rare_class_is_kept_or_left_out_as_stated_and_reported(split, rule, drawn):
    table = rows()
    table["label"][1] = "rare"
    _, _, reference, facts = split(table, {**SAMPLE, "rare_classes": rule})
    assert facts["rare_classes"] == [
        {"bucket": "short", "label": "rare", "available": 1, "share": 6 / 16, "drawn": drawn}
    ]
    assert sum(one["label"] == "rare" for one in reference) == drawn
    assert len(reference) == 9
    assert any("too rare" in note and "rare in short (1)" in note for note in facts["notes"])


def test_many_rare_classes_are_named_by_a_few_and_their_number():
    rare = [{"label": f"c{n}", "bucket": "b", "available": 1, "drawn": 0} for n in range(8)]
    facts = {
        "rare_classes": rare,
        "tokens": {"above_limit": 0},
        "policy_counts": {"twin_text": 0, "without_tokens": 0, "pad_token_in_text": 0},
    }
    (note,) = corpus_notes(facts, {})
    assert note.endswith("c3 in b (1), c4 in b (1), and 3 more")


def test_an_unused_map_key_is_a_misspelling(split):
    with pytest.raises(AtparError, match="label_map names the label 'A'"):
        split(rows(), label_map={"A": "c"})


def test_texts_without_tokens_are_named_or_counted(split):
    table = rows()
    table["text"][4] = "\u200b"
    # WhitespaceSplit keeps U+200B, a blank is what it drops.
    table["text"][5] = " "
    with pytest.raises(AtparError, match=r"row 6 \(id 'e05'\)"):
        split(table)
    facts = split(table, empty_text="accept")[3]
    assert facts["policy_counts"]["empty_text"] == 1
    assert facts["policy_counts"]["without_tokens"] == 1


def test_odd_texts_are_counted(split):
    table = rows()
    table["text"][1:6] = ["caf\u00e9", "cafe\u0301", "same", "same", "bell\x07 [PAD]"]
    counts = split(table)[3]["policy_counts"]
    assert counts == {
        "empty_text": 0,
        "missing_text": 0,
        "invalid_unicode": 0,
        "control_characters": 1,
        "not_nfc": 1,
        "duplicate_text": 1,
        "twin_text": 1,
        "without_tokens": 0,
        "pad_token_in_text": 1,
    }


def test_twin_ids_stay_two(split):
    table = rows()
    table["id"][:2] = ["\u00e9", "e\u0301"]
    assert len(split(table)[0]) == 24


def test_row_digests_tell_neighbours_apart():
    def of(*values, cut=0):
        one = RowDigest(["a"])
        batch = pa.table({"a": pa.array(values, pa.large_string())})
        one.update(batch.slice(0, cut))
        one.update(batch.slice(cut))
        return one.hexdigest()

    assert of("ab", "c") == of("ab", "c", cut=1)
    different = [of("ab", "c"), of("a", "bc"), of("abc"), of("c", "ab"), of("ab", "c", ""),
                 of("ab", "c", None), of(None, "ab", "c")]  # fmt: skip
    assert len(set(different)) == len(different)


def test_a_corpus_too_large_to_sort_at_once_gives_the_same_tables(split, monkeypatch):
    at_once = split(rows())
    pieces = []
    real = split_tables.in_order

    def watched(tables, drawn, count, folder):
        pieces.append(count)
        return real(tables, drawn, count, folder)

    monkeypatch.setattr(split_tables, "in_order", watched)
    monkeypatch.setattr(split_tables, "PIECE_BYTES", 100)
    assert split(rows()) == at_once
    assert pieces[0] > 1
