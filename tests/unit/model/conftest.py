"""Small real models, saved as a user has them."""

import json
import shutil
from pathlib import Path

import pytest

WORDS = [f"w{n}" for n in range(20)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
}


def save_bert(folder: Path, labels=("neg", "pos"), **changes) -> Path:
    """Save a one-layer BERT classifier with its tokenizer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(SPECIAL + WORDS) + "\n")
    BertTokenizer(vocab=str(vocabulary), model_max_length=32).save_pretrained(folder)
    settings = {**SMALL, "vocab_size": len(SPECIAL + WORDS), **changes}
    if labels is not None:
        settings["id2label"] = dict(enumerate(labels))
        settings["label2id"] = {name: n for n, name in enumerate(labels)}
    torch.manual_seed(1)
    BertForSequenceClassification(BertConfig(**settings)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("model") / "bert")


@pytest.fixture
def bert(saved, tmp_path):
    """A copy of the small model, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "bert"))


@pytest.fixture
def check(tmp_path, model_stages):
    """Return a function that runs tokenizer and fingerprint of a folder as the rules do."""
    return lambda folder, **options: model_stages(folder, tmp_path, **options)


@pytest.fixture
def edit():
    """Return a function that changes keys of a JSON file; None takes a key out."""

    def change(path: Path, **changes):
        content = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))

    return change
