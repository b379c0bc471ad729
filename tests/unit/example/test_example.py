"""The example's material: what is read from the wheels, and what is refused."""

import gzip
import io
import json
import subprocess
import zipfile

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atpar.canonical import file_digest
from atpar.errors import AtparError
from atpar.example import wheels
from atpar.example.operations import (
    Operation,
    largest_services,
    newest_service_files,
    plain_text,
    read_operations,
    without_repeats,
    words,
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Creates a <b>thing</b>.</p><p>Then\n  stops.</p>", "Creates a thing. Then stops."),
        ("<fullname>X</fullname> &lt;b&gt; &amp; caf&#233;", "X <b> & café"),
        ("a<code>b</code>c <ul><li>d</li><li>e</li></ul>", "abc d e"),
        ("", ""),
    ],
)
def test_html_becomes_folded_text(html, text):
    assert plain_text(html) == text


@given(st.text())
def test_any_html_becomes_text_without_runs_of_space(html):
    text = plain_text(html)
    assert text == " ".join(text.split())


def test_the_newest_date_of_each_service_is_taken():
    names = [
        "botocore/data/a/2019-01-01/service-2.json.gz",
        "botocore/data/a/2020-01-01/service-2.json.gz",
        "botocore/data/a/2021-01-01/waiters-2.json",
        "botocore/data/b/2018-01-01/service-2.json.gz",
        "other/data/c/2018-01-01/service-2.json.gz",
    ]
    assert newest_service_files(names) == {"a": names[1], "b": names[3]}


def test_operations_have_id_text_and_label():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as wheel:
        operations = {
            "Put": {"documentation": "<p>Puts.</p>"},
            "Get": {},
            "Cut": {"documentation": ""},
        }
        content = gzip.compress(json.dumps({"operations": operations}).encode())
        wheel.writestr("botocore/data/a/2020-01-01/service-2.json.gz", content)
    with zipfile.ZipFile(stream) as wheel:
        assert read_operations(wheel) == [Operation("a:Put", "Puts.", "a")]


def test_texts_of_the_same_words_have_one_label_or_none():
    found = [
        Operation("a:1", "Gets it.", "a"),
        Operation("a:2", "gets IT", "a"),
        Operation("a:3", "Lists tags", "a"),
        Operation("b:1", "lists tags!", "b"),
        Operation("b:2", "tags lists", "b"),
    ]
    assert [one.id for one in without_repeats(found)] == ["a:1", "b:2"]
    assert words("Straße, STRASSE") == ("strasse", "strasse")


def test_the_services_with_most_operations():
    found = [
        Operation(f"{s}:{n}", "t", s)
        for s, count in {"a": 1, "b": 3, "c": 2, "d": 2}.items()
        for n in range(count)
    ]
    assert {one.label for one in largest_services(found, 2)} == {"b", "c"}


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("x/good.txt", "good")
        opened.writestr("x/../../evil.txt", "evil")
        link = zipfile.ZipInfo("x/link")
        link.external_attr = 0o120777 << 16
        opened.writestr(link, "/etc/passwd")
    return path


def test_members_are_checked_before_unpacking(wheel, tmp_path, monkeypatch):
    with wheels.open_wheel(wheel) as opened:
        wheels.unpack(opened, {"x/good.txt": tmp_path / "out" / "good.txt"})
        assert (tmp_path / "out" / "good.txt").read_text() == "good"
        for name, message in {
            "x/../../evil.txt": "isn't the name of a plain file",
            "x/link": "symbolic link",
            "x/none": "no member",
        }.items():
            with pytest.raises(AtparError, match=message):
                wheels.read_member(opened, name)
        monkeypatch.setattr(wheels, "LARGEST_MEMBER_BYTES", 3)
        with pytest.raises(AtparError, match="too many"):
            wheels.read_member(opened, "x/good.txt")


def test_a_damaged_wheel_is_one_message(tmp_path):
    path = tmp_path / "x.whl"
    path.write_bytes(b"no zip")
    with pytest.raises(AtparError, match="fetched again"), wheels.open_wheel(path):
        pass


def test_fetching_checks_the_digest_and_leaves_nothing_unchecked(wheel, tmp_path, monkeypatch):
    def pip(command, **_):
        assert command[3:6] == ["download", "--no-deps", "--only-binary=:all:"]
        folder = command[command.index("--dest") + 1]
        (tmp_path / folder / wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    target = tmp_path / "wheels" / wheel.name
    with pytest.raises(AtparError, match="another file than the one that was pinned"):
        wheels.fetch_wheel("x==1", "0" * 64, target)
    assert not target.exists()
    wheels.fetch_wheel("x==1", file_digest(wheel), target)
    assert target.read_bytes() == wheel.read_bytes()


def test_a_failed_fetch_says_what_pip_said(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no matching distribution")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(AtparError, match="no matching distribution"):
        wheels.fetch_wheel("x==1", "0" * 64, tmp_path / "x.whl")


def test_the_split_is_drawn_from_every_text(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    from atpar.corpus.tokens import TokenCounter
    from atpar.example.texts import HELD_OUT, hold_out

    built = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    built.save(str(tmp_path / "t.json"))
    lengths = [10] * 800 + [100] * 400 + [200] * 150
    found = [Operation(f"s:{n}", "w " * size, "ab"[n % 2]) for n, size in enumerate(lengths)]
    table = hold_out(found, TokenCounter(tmp_path / "t.json"), 1)
    held = table.filter(pq.filters_to_expression([("split", "=", "evaluation")])).to_pylist()
    counts = [sum(1 for one in held if len(one["text"].split()) == size) for size in (10, 100, 200)]
    assert counts == [one.entries for one in HELD_OUT]
    assert table.num_rows == 1350


def test_a_fitted_head_is_the_same_twice_and_learns():
    torch = pytest.importorskip("torch")

    from atpar.example.head import fit_head, scores

    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(3, 16, generator=generator)
    answers = torch.arange(300) % 3
    features = centres[answers] + 0.3 * torch.randn(300, 16, generator=generator)
    torch.manual_seed(5)
    pooler = torch.nn.Linear(16, 16)
    heads = [fit_head(features, answers, pooler, 3, seed) for seed in (1, 1, 2)]
    assert (scores(features, heads[0]).argmax(1) == answers).float().mean() > 0.95
    same = [
        torch.equal(heads[0].parameters[n], heads[1].parameters[n]) for n in heads[0].parameters
    ]
    assert all(same)
    assert not torch.equal(
        heads[0].parameters["classifier.weight"], heads[2].parameters["classifier.weight"]
    )


def test_features_do_not_depend_on_the_batch_and_keep_their_order():
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel

    from atpar.example.encoder import first_token_features

    vocabulary = {name: n for n, name in enumerate(["[PAD]", "[UNK]", *"abcdefgh"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    torch.manual_seed(0)
    encoder = BertModel(
        BertConfig(
            vocab_size=10,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=64,
        )
    ).eval()
    texts = ["a b c d e f", "b", "c d", "a b c d e g", "h " * 40]
    together = first_token_features(encoder, tokenizer, texts, 5)
    alone = torch.cat([first_token_features(encoder, tokenizer, [text], 5) for text in texts])
    torch.testing.assert_close(together, alone)
    assert torch.equal(together[0], together[3])  # cut to the same five tokens
