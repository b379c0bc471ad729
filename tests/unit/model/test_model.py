"""A model is fingerprinted only if passes can measure it; every refusal says what to do."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.canonical import read_json, write_json
from atpar.config.model import ModelSource
from atpar.errors import AtparError
from atpar.model.files import model_files, tokenizer_files
from atpar.model.labels import check_labels

torch = pytest.importorskip("torch")


def rewrite_weights(folder: Path, change) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_sound_model_is_described(check, bert):
    settings, facts = check(bert)
    assert settings["model_max_length"] == 32
    assert settings["pad_token_id"] == facts["pad_token_id"] == 0
    assert facts["labels"] == ["neg", "pos"]
    assert facts["max_positions"] == facts["usable_length"] == 32
    assert facts["architecture"] == "BertForSequenceClassification"
    assert facts["dtype"] == "fp32"
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(bert)
    assert facts["parameters"] == sum(one.numel() for one in model.parameters())
    assert facts["parameter_bytes"] == 4 * facts["parameters"]
    assert {Path(one["path"]).name for one in facts["files"]} == {
        "config.json",
        "model.safetensors",
    }


def test_new_weights_leave_the_tokenizer_alone(check, bert, edit):
    before = check(bert)
    rewrite_weights(bert, lambda weights: weights["classifier.bias"].add_(1))
    after = check(bert)
    assert after[0] == before[0]
    assert after[1]["weights_digest"] != before[1]["weights_digest"]
    assert after[1]["config_digest"] == before[1]["config_digest"]
    assert after[1]["model_digest"] != before[1]["model_digest"]
    edit(bert / "tokenizer_config.json", model_max_length=16)
    shorter = check(bert)
    assert shorter[1]["tokenizer_digest"] != after[1]["tokenizer_digest"]
    assert shorter[1]["weights_digest"] == after[1]["weights_digest"]


def test_the_backend_neither_pads_nor_truncates(check, bert, tmp_path):
    from tokenizers import Tokenizer

    stored = Tokenizer.from_file(str(bert / "tokenizer.json"))
    stored.enable_truncation(4)
    stored.enable_padding(length=8)
    stored.save(str(bert / "tokenizer.json"))
    check(bert)
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert len(backend.encode("w1").ids) == 3
    assert len(backend.encode("w1 " * 50).ids) == 52


def no_head(folder, _edit):
    rewrite_weights(folder, lambda weights: weights.pop("classifier.weight"))


def extra(folder, _edit):
    rewrite_weights(folder, lambda weights: weights.update({"left.over": torch.zeros(2)}))


def other_labels(folder, edit):
    names = {"0": "a", "1": "b", "2": "c"}
    edit(folder / "config.json", id2label=names, label2id={v: int(k) for k, v in names.items()})


def one_logit(folder, edit):
    edit(folder / "config.json", id2label={"0": "a"}, label2id={"a": 0})
    rewrite_weights(
        folder,
        lambda w: w.update({n: w[n][:1].clone() for n in ("classifier.weight", "classifier.bias")}),
    )


def regression(folder, edit):
    edit(folder / "config.json", problem_type="regression")


def no_classifier(folder, edit):
    edit(folder / "config.json", architectures=["BertModel"])


def remote_code(folder, edit):
    edit(folder / "config.json", auto_map={"AutoConfig": "evil.Config"})
    (folder / "evil.py").write_text("raise SystemExit('ran')")


def other_padding(folder, edit):
    edit(folder / "config.json", pad_token_id=3)


def small_embeddings(folder, edit):
    edit(folder / "config.json", vocab_size=10)
    name = "bert.embeddings.word_embeddings.weight"
    rewrite_weights(folder, lambda weights: weights.update({name: weights[name][:10].clone()}))


def cut_weights(folder, _edit):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def no_json(folder, _edit):
    (folder / "config.json").write_text("{")


def a_list(folder, _edit):
    (folder / "config.json").write_text("[1]")


def no_architecture(folder, edit):
    edit(folder / "config.json", architectures=[None])


def architecture_as_text(folder, edit):
    edit(folder / "config.json", architectures="BertForSequenceClassification")


def architecture_as_mapping(folder, edit):
    edit(folder / "config.json", architectures={"a": 1})


def tokenizer_list(folder, _edit):
    (folder / "tokenizer_config.json").write_text("[]")


def tokenizer_torn(folder, _edit):
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": ')


def same_labels(folder, edit):
    edit(folder / "config.json", id2label={"0": "a", "1": "a"}, label2id={"a": 1})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (no_head, "classifier.weight are missing from the weights"),
        (extra, "left.over are in the weights, but not in the model"),
        (other_labels, "other shapes than config.json says"),
        (one_logit, "the head has 1 output"),
        (regression, "the head has 2 outputs, but regression means one output"),
        (no_classifier, "architecture is BertModel"),
        (remote_code, "trust_remote_code: true"),
        (other_padding, r"config\.json says pad_token_id 3, the tokenizer pads with 0"),
        (small_embeddings, "token ids up to 24, but the model has embeddings for 10"),
        (cut_weights, "transformers can't load it"),
        (no_json, "can't be read as JSON"),
        (same_labels, "two outputs are labelled 'a'"),
        (a_list, r"config\.json: holds no JSON object"),
        (no_architecture, "architecture is None, expected a list"),
        (architecture_as_text, "architecture is BertForSequenceClassification, expected a list"),
        (architecture_as_mapping, "architecture is {'a': 1}, expected a list"),
        (tokenizer_list, r"tokenizer_config\.json: holds no JSON object"),
        (tokenizer_torn, r"tokenizer_config\.json: can't be read as JSON"),
    ],
)
def test_a_model_that_passes_could_not_measure_is_refused(check, bert, edit, damage, message):
    damage(bert, edit)
    with pytest.raises(AtparError, match=message) as caught:
        check(bert)
    assert "Traceback" not in str(caught.value)


def test_labels_of_the_configuration_stand_in(check, bert):
    assert check(bert, labels=["down", "up"])[1]["labels"] == ["down", "up"]
    with pytest.raises(AtparError, match="names 3 labels, but the head has 2"):
        check(bert, labels=["a", "b", "c"])


def test_pickled_weights_only_if_allowed(check, bert):
    from safetensors.torch import load_file

    torch.save(load_file(bert / "model.safetensors"), bert / "pytorch_model.bin")
    both = model_files(ModelSource(path=str(bert), allow_pickle=True))
    assert not any(path.endswith(".bin") for path in both)
    (bert / "model.safetensors").unlink()
    with pytest.raises(AtparError, match=r"pytorch_model\.bin: .*allow_pickle: true"):
        check(bert)
    facts = check(bert, allow_pickle=True)[1]
    assert facts["dtype"] == "fp32"
    assert facts["parameters"] > 0


def test_a_tokenizer_without_a_limit(check, bert, edit):
    edit(bert / "tokenizer_config.json", model_max_length=None)
    settings, facts = check(bert)
    assert settings["model_max_length"] is None
    assert facts["usable_length"] == 32


def test_roberta_uses_fewer_positions_than_it_has(check, tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        PreTrainedTokenizerFast,
        RobertaConfig,
        RobertaForSequenceClassification,
    )

    names = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{n}" for n in range(9))]
    built = Tokenizer(
        models.WordLevel({name: n for n, name in enumerate(names)}, unk_token="<unk>")
    )
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    folder = tmp_path / "roberta"
    PreTrainedTokenizerFast(
        tokenizer_object=built, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    ).save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=18, pad_token_id=1, type_vocab_size=1,
    )  # fmt: skip
    model = RobertaForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    settings, facts = check(folder)
    assert settings["model_max_length"] is None
    assert facts["max_positions"] == 18
    assert facts["usable_length"] == 16
    fits = torch.full((1, facts["usable_length"]), 5)
    model(input_ids=fits)
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.full((1, facts["usable_length"] + 1), 5))


def decoder(folder: Path, pad: str | None) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast

    names = ["<s>", "</s>", "<unk>", "<pad>", *(f"w{n}" for n in range(9))]
    built = Tokenizer(
        models.WordLevel({name: n for n, name in enumerate(names)}, unk_token="<unk>")
    )
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=built, unk_token="<unk>", eos_token="</s>", pad_token=pad
    ).save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, intermediate_size=16, max_position_embeddings=32,
        pad_token_id=None, num_labels=2,
    )  # fmt: skip
    LlamaForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_model_without_padding_token_asks_for_one(check, tmp_path):
    folder = decoder(tmp_path / "llama", None)
    with pytest.raises(AtparError, match=r"model\.pad_token to .*, for example '</s>'"):
        check(folder)
    settings, facts = check(folder, pad_token="<pad>")
    assert settings["pad_token_id"] == facts["pad_token_id"] == 3
    with pytest.raises(AtparError, match="'<none>', which the vocabulary"):
        check(folder, pad_token="<none>")


@pytest.mark.parametrize("side", ["left", "right"])
def test_both_padding_sides_of_a_decoder_give_the_scores_of_the_entry_alone(
    check, tmp_path, edit, side
):
    folder = decoder(tmp_path / "llama", "<pad>")
    edit(folder / "tokenizer_config.json", padding_side=side)
    assert check(folder)[0]["padding_side"] == side


def test_a_model_whose_scores_depend_on_padding_is_refused(bert):
    from transformers import AutoModelForSequenceClassification

    from atpar.model.padding import check_padding

    model = AutoModelForSequenceClassification.from_pretrained(bert).eval()
    settings = {"pad_token_id": 0, "padding_side": "right"}
    check_padding(model, bert / "tokenizer.json", settings, 32, bert)
    whole = model.forward

    def reads_padding(input_ids, **masks):
        scored = whole(input_ids=input_ids, **masks)
        scored.logits = scored.logits + input_ids.float().mean(1, keepdim=True)
        return scored

    model.forward = reads_padding
    with pytest.raises(AtparError, match="padded on the right beside a longer one"):
        check_padding(model, bert / "tokenizer.json", settings, 32, bert)


def test_a_model_too_large_to_try_padding_out_is_noted(check, bert, monkeypatch):
    assert check(bert)[1]["notes"] == []
    monkeypatch.setattr("atpar.model.padding.LARGEST_COMPARED", 0)
    facts = check(bert)[1]
    assert facts["padding_sides"] is None
    [note] = facts["notes"]
    assert note.startswith("padding wasn't tried out: the model has ")


def test_files_of_folders(tmp_path, bert, edit):
    example = ModelSource(path="resources/example/model")
    assert model_files(example)[-1] == "resources/example/model/model.safetensors"
    assert "resources/example/model/vocab.txt" in tokenizer_files(example)
    hub = ModelSource(hub="org/name", revision="a" * 40)
    assert tokenizer_files(hub) == [f"resources/hub/org--name/{'a' * 40}/TOKENIZER_FILES.json"]
    with pytest.raises(AtparError, match="no such folder"):
        model_files(ModelSource(path=str(tmp_path / "none")))
    with pytest.raises(AtparError, match="which is a file"):
        model_files(ModelSource(path=str(bert / "config.json")))
    own = ModelSource(path=str(bert))
    assert not any(
        path.endswith("config.json") and "tokenizer" not in path for path in tokenizer_files(own)
    )
    # A tokenizer that doesn't name its class is built by the model's type.
    edit(bert / "tokenizer_config.json", tokenizer_class=None)
    assert str(bert / "config.json") in tokenizer_files(own)


def labelled(tmp_path, known, used):
    pq.write_table(
        pa.table(
            {"id": [f"e{n}" for n in range(len(used))], "label": pa.array(used, pa.large_string())}
        ),
        tmp_path / "reference.parquet",
    )
    write_json(tmp_path / "fingerprint.json", {"labels": known})
    return check_labels(
        tmp_path / "reference.parquet", tmp_path / "fingerprint.json", tmp_path / "labels.json"
    )


@pytest.mark.parametrize(
    ("known", "used", "message"),
    [
        (
            ["positive", "negative"],
            ["positive", "Positiv"],
            "'Positiv' .id 'e1'.*did you mean 'positive'",
        ),
        (["neg", "pos"], ["pos", " pos"], "label ' pos' .id 'e1'.*map them with corpus.label_map"),
        (["LABEL_0", "LABEL_1"], ["neg", "pos"], "index order under model.labels"),
        (["0", "1"], ["neg", "pos"], "No label is known to both"),
        (["neg", "pos"], ["neg", "pos", "neu", "mix"], "1 more are unknown: 'mix'"),
        (["0", "1"], ["0.0", "1.0"], "label '0.0'"),
        (["True", "False"], ["true"], "did you mean 'True'"),
    ],
)
def test_a_label_that_the_model_cannot_predict(tmp_path, known, used, message):
    with pytest.raises(AtparError, match=message):
        labelled(tmp_path, known, used)


def test_labels_are_written(tmp_path):
    content = labelled(tmp_path, ["b", "a", "c"], ["a", "b", "a"])
    assert content == read_json(tmp_path / "labels.json")
    assert content["labels"] == ["b", "a", "c"]
    assert content["reference_labels"] == ["a", "b"]
    assert content["unused_labels"] == ["c"]
    assert labelled(tmp_path, ["a", "b"], [None])["reference_labels"] == []


def test_some_answers_and_not_others(tmp_path):
    with pytest.raises(AtparError, match="id 'e1' has no reference answer"):
        labelled(tmp_path, ["a", "b"], ["a", None])


def test_hub_revisions_are_fetched_by_pattern(tmp_path, monkeypatch, saved):
    import shutil
    from fnmatch import fnmatch

    import huggingface_hub

    from atpar.model.hub import fetch_model, fetch_tokenizer
    from atpar.model.tokenizer import prepare_tokenizer

    asked = []

    def snapshot(hub, revision, local_dir, allow_patterns):
        asked.append((hub, revision))
        for path in saved.iterdir():
            if any(fnmatch(path.name, pattern) for pattern in allow_patterns):
                Path(local_dir).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, local_dir)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    source = ModelSource(hub="org/name", revision="a" * 40)
    folder = tmp_path / "hub"
    fetch_tokenizer(source.hub, source.revision, folder / "TOKENIZER_FILES.json")
    assert not list(folder.glob("*.safetensors"))
    prepare_tokenizer(
        [folder / "TOKENIZER_FILES.json"], None, False, tmp_path / "t", tmp_path / "s"
    )
    fetch_model(source, folder / "MODEL_FILES.json")
    assert read_json(folder / "MODEL_FILES.json")["files"] == ["config.json", "model.safetensors"]
    assert set(asked) == {("org/name", "a" * 40)}


def test_hub_errors_are_one_message(tmp_path, monkeypatch):
    import huggingface_hub

    from atpar.model.hub import fetch_tokenizer

    def fail(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(AtparError, match="no route to host"):
        fetch_tokenizer("org/name", "a" * 40, tmp_path / "list.json")


def test_a_backend_that_disagrees_is_refused(bert, tmp_path, monkeypatch):
    from tokenizers import Tokenizer

    from atpar.model import tokenizer as room

    class Other:
        @staticmethod
        def from_str(state):
            content = json.loads(state)
            content["normalizer"] = None
            return Tokenizer.from_str(json.dumps(content))

    monkeypatch.setattr(room, "Tokenizer", Other)
    files = [Path(path) for path in tokenizer_files(ModelSource(path=str(bert)))]
    with pytest.raises(AtparError, match="other token ids than transformers"):
        room.prepare_tokenizer(files, None, False, tmp_path / "t", tmp_path / "s")


def test_headers_give_sizes_without_reading(tmp_path):
    from safetensors.numpy import save_file

    from atpar.model.header import parameter_dtype, read_headers

    save_file({"a": np.zeros((2, 3), np.float32)}, tmp_path / "1.safetensors")
    save_file({"b": np.zeros(4, np.float16)}, tmp_path / "2.safetensors")
    found = read_headers([tmp_path / "1.safetensors", tmp_path / "2.safetensors"])
    assert {name: (one.elements, one.bytes) for name, one in found.items()} == {
        "a": (6, 24),
        "b": (4, 8),
    }
    assert parameter_dtype(found) == "mixed"
    with pytest.raises(AtparError, match=r"tensor 'a' is in 1\.safetensors too"):
        read_headers([tmp_path / "1.safetensors", tmp_path / "1.safetensors"])
