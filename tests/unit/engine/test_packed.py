"""Packed entries get the logits that their model gives them one by one."""

import numpy as np
import pytest
import torch
import transformers

from atpar.engine.packed import FAMILIES, Packing
from atpar.engine.quantize import quantized
from atpar.engine.refused import Refused

PAD = 1
LENGTHS = np.array([1, 2, 9, 9, 9, 17])
CLASSES = {
    "bert": "Bert",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
    "electra": "Electra",
    "gpt2": "GPT2",
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
}
SPELLING = {
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 40},
}
ORDINARY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}


def small_model(kind, **changes):
    """Return a two-layer classifier of a family with large random weights."""
    options = {
        "vocab_size": 50,
        "max_position_embeddings": 40,
        "num_labels": 3,
        "initializer_range": 0.5,
        "bos_token_id": 2,
        "eos_token_id": 3,
        **SPELLING.get(kind, ORDINARY),
        **changes,
    }
    if kind in ("llama", "mistral", "qwen2", "qwen3"):
        options["num_key_value_heads"] = 2
    config = getattr(transformers, f"{CLASSES[kind]}Config")(**options)
    torch.manual_seed(3)
    model = getattr(transformers, f"{CLASSES[kind]}ForSequenceClassification")(config).eval()
    model.config.pad_token_id = PAD
    return model.requires_grad_(False)


def entries():
    """Return token ids of each entry; none is the padding token."""
    draw = np.random.default_rng(5)
    return [torch.from_numpy(draw.integers(2, 50, (1, length))) for length in LENGTHS]


def test_every_family_is_tested():
    assert set(FAMILIES) == set(CLASSES)


@pytest.mark.parametrize("kind", sorted(FAMILIES))
def test_packed_logits_are_those_of_single_entries(kind):
    model = small_model(kind)
    expected = torch.cat([model(input_ids=one).logits for one in entries()])
    packing = Packing(model, flash=False, longest=17)
    found = packing.logits(model, torch.cat(entries(), 1), LENGTHS)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert found.std() > 0.1, "entries that all look alike would prove nothing"


def test_token_types_are_packed_too():
    model = small_model("bert")
    types = [torch.arange(length)[None] % 2 for length in LENGTHS]
    expected = torch.cat(
        [
            model(input_ids=ids, token_type_ids=kinds).logits
            for ids, kinds in zip(entries(), types, strict=True)
        ]
    )
    packing = Packing(model, flash=False)
    found = packing.logits(model, torch.cat(entries(), 1), LENGTHS, torch.cat(types, 1))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_decoder_reads_off_the_last_token_that_is_not_padding():
    model = small_model("llama")
    texts = entries()
    texts[3][0, -2:] = PAD
    texts[0][0, 0] = PAD
    expected = torch.cat([model(input_ids=one).logits for one in texts])
    packing = Packing(model, flash=False)
    found = packing.logits(model, torch.cat(texts, 1), LENGTHS)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_text_that_holds_the_padding_token_keeps_its_positions(kind):
    model = small_model(kind)
    texts = entries()
    texts[2][0, 4] = texts[3][0, 1] = texts[5][0, 0] = PAD
    expected = torch.cat([model(input_ids=one).logits for one in texts])
    found = Packing(model, flash=False).logits(model, torch.cat(texts, 1), LENGTHS)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_half_precision_is_packed_within_its_tolerance():
    model = small_model("roberta").to(torch.bfloat16)
    expected = torch.cat([model(input_ids=one).logits for one in entries()])
    found = Packing(model, False).logits(model, torch.cat(entries(), 1), LENGTHS)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, atol=0.3, rtol=0.1)


@pytest.mark.parametrize(("precision", "packs"), [("highest", False), ("high", True)])
def test_tf32_is_packed_within_the_tolerance_of_its_digits(monkeypatch, precision, packs):
    logits = Packing.logits
    monkeypatch.setattr(Packing, "logits", lambda *given: logits(*given) + 0.005)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: precision)
    if packs:
        Packing(small_model("bert"), flash=False)
    else:
        with pytest.raises(Refused, match="other logits for packed entries"):
            Packing(small_model("bert"), flash=False)


def test_no_score_of_the_whole_row_is_ever_made(monkeypatch):
    """Attention sees single entries, those of equal length in one call."""
    model = small_model("bert")
    packing = Packing(model, flash=False)
    seen = []
    real = torch.nn.functional.scaled_dot_product_attention

    def spy(query, *arguments, **more):
        seen.append((query.shape[0], query.shape[2]))
        return real(query, *arguments, **more)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    packing.logits(model, torch.cat(entries(), 1), LENGTHS)
    assert seen == [(1, 1), (1, 2), (3, 9), (1, 17)] * 2


def test_other_families_are_refused():
    config = transformers.AlbertConfig(
        **ORDINARY, vocab_size=50, embedding_size=8, max_position_embeddings=40
    )
    with pytest.raises(Refused, match=r"known for bert, .* alone; this model is a albert"):
        Packing(transformers.AlbertForSequenceClassification(config), flash=False)


def test_a_sliding_window_shorter_than_an_entry_is_refused():
    with pytest.raises(Refused, match="sliding window of 8 tokens"):
        Packing(small_model("mistral", sliding_window=8), flash=False, longest=17)
    Packing(small_model("mistral", sliding_window=17), flash=False, longest=17)


@pytest.mark.parametrize("fault", ["positions", "leak"])
def test_a_model_that_packing_would_change_is_refused(fault, monkeypatch):
    if fault == "positions":
        monkeypatch.setattr(Packing, "_positions", lambda _, ids, *__: torch.zeros_like(ids))
    else:
        monkeypatch.setattr(
            Packing, "_bound", lambda self, lengths, _: setattr(
                self, "runs", [(0, int(lengths.sum()), 1)]
            )
        )  # fmt: skip
    with pytest.raises(Refused, match="other logits for packed entries"):
        Packing(small_model("bert"), flash=False)


@pytest.mark.parametrize("kind", ["int8-dynamic", "int8-weight-only"])
def test_packed_layers_may_be_quantized(kind):
    if kind != "int8-dynamic":
        pytest.importorskip("torchao", reason="torchao isn't installed (requirements-torchao.txt)")
    model = small_model("roberta", initializer_range=0.1)
    packing = Packing(model, flash=False)
    plain = packing.logits(model, torch.cat(entries(), 1), LENGTHS)
    with torch.inference_mode():
        found = packing.logits(quantized(model, kind), torch.cat(entries(), 1), LENGTHS)
    difference = (found - plain).abs()
    assert 0 < difference.mean() < 0.2 * plain.abs().mean()
