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
def check(tmp_path):
    """Return a function that runs tokenizer and fingerprint of a folder as the rules do."""
    from atpar.config.model import ModelSource
    from atpar.model.files import model_files, tokenizer_files
    from atpar.model.fingerprint import fingerprint_model
    from atpar.model.tokenizer import prepare_tokenizer

    def run(folder, **options):
        source = ModelSource(path=str(folder), **options)
        settings = prepare_tokenizer(
            [Path(path) for path in tokenizer_files(source)],
            source.pad_token,
            source.trust_remote_code,
            tmp_path / "tokenizer.json",
            tmp_path / "settings.json",
        )
        facts = fingerprint_model(
            [Path(path) for path in model_files(source)],
            tmp_path / "tokenizer.json",
            tmp_path / "settings.json",
            str(folder),
            None,
            source.labels,
            source.trust_remote_code,
            source.allow_pickle,
            tmp_path / "fingerprint.json",
            source.head,
        )
        return settings, facts

    return run


@pytest.fixture
def edit():
    """Return a function that changes keys of a JSON file; None takes a key out."""

    def change(path: Path, **changes):
        content = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))

    return change
