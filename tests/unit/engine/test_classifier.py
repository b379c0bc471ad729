"""What the loader of a model is told, and what is read off the model that it gives."""

from types import SimpleNamespace

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from atpar.config.variants import Variant
from atpar.engine import classifier as classifiers
from atpar.engine.classifier import Classifier
from atpar.engine.quantize import stored_bytes
from atpar.engine.refused import Refused

SMALL = {
    "vocab_size": 20,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}


@pytest.fixture
def loaded(monkeypatch, tmp_path):
    """Return a function that makes a classifier, and what its loader was told."""
    told = {"last": 1, "moved": []}

    def load(*_, **options):
        told.update(options)
        model = BertForSequenceClassification(BertConfig(**SMALL)).to(options["dtype"])
        model.hf_device_map = {"bert": 0, "classifier": told["last"]}
        model.to = lambda target: told["moved"].append(target) or model
        return model, {"missing_keys": [], "mismatched_keys": []}

    monkeypatch.setattr(classifiers, "load_pretrained", load)
    monkeypatch.setattr(classifiers, "check_loaded", lambda *_: [])

    def make(**options):
        row = Variant(**{"variant": "v", "batch_size": 8, **options}).model_dump(mode="json")
        return Classifier(None, tmp_path, variant=row, target="cpu", pad_token_id=0)

    return SimpleNamespace(make=make, told=told)


def test_a_spread_model_is_placed_by_its_loader(loaded):
    found = loaded.make(device_map="balanced")
    assert loaded.told["device_map"] == "balanced"
    assert loaded.told["moved"] == [], "it would all go to one card"
    assert found.notes == ["the model is spread over GPUs: 0 (1), 1 (1) parts"]


def test_a_spread_model_that_does_not_fit_is_refused(loaded):
    loaded.told["last"] = "cpu"
    with pytest.raises(Refused, match="doesn't fit into the GPUs"):
        loaded.make(device_map="auto")


def test_a_plain_model_is_moved_and_told_nothing_of_placement(loaded):
    found = loaded.make()
    assert not {"device_map", "quantization_config"} & loaded.told.keys()
    assert loaded.told["moved"] == ["cpu"]
    assert (found.notes, found.dtype_used) == ([], "float32")


def test_bitsandbytes_quantizes_while_it_loads(loaded):
    found = loaded.make(quantization="int8-bitsandbytes", precision="bf16")
    assert loaded.told["device_map"] == {"": "cpu"}
    assert loaded.told["quantization_config"].load_in_8bit
    assert loaded.told["moved"] == [], "its weights can't be moved"
    assert any("LLM.int8" in note for note in found.notes)
    assert found.dtype_used == "bfloat16+int8"


def test_bytes_of_a_quantized_weight_are_those_that_are_stored():
    assert stored_bytes(torch.zeros(4, 8)) == 128

    class Stored:
        def __tensor_flatten__(self):
            return ["values", "scale"], None

        values, scale = torch.zeros(4, 8, dtype=torch.int8), torch.zeros(4)

    assert stored_bytes(Stored()) == 32 + 16


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_weights_of_a_model_on_the_cpu_are_in_memory_of_its_own(tmp_path, precision):
    BertForSequenceClassification(BertConfig(**SMALL)).save_pretrained(tmp_path)
    row = Variant(variant="v", batch_size=8, precision=precision).model_dump(mode="json")
    found = Classifier(
        BertForSequenceClassification, tmp_path, variant=row, target="cpu", pad_token_id=0
    )
    logits = found._probe()
    file = tmp_path / "model.safetensors"
    with file.open("r+b") as stream:
        stream.write(bytes(file.stat().st_size))
    assert torch.equal(found._probe(), logits)
