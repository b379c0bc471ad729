"""What the tests of cases share: corpus files of every kind, and both corpus stages over them."""

import gzip
import importlib.util
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from atpar.canonical import write_json
from atpar.config.corpus import Corpus
from atpar.corpus.entries import Tables
from atpar.corpus.fingerprint import fingerprint_corpus
from atpar.corpus.split import split_buckets

Row = dict[str, str | None]


def encoded(rows: Sequence[Row], kind: str) -> bytes:
    """Return rows of text as a file of this kind, written as its usual writers do."""
    name, _, compression = kind.partition(".")
    if name in ("parquet", "arrow"):
        table = pa.Table.from_pylist([dict(row) for row in rows])
        sink = io.BytesIO()
        if name == "parquet":
            pq.write_table(table, sink)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
        return sink.getvalue()
    if name == "jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        mark = {"csv": ",", "tsv": "\t"}[name]
        cells = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows)]
        text = "".join(mark.join(f'"{cell}"' for cell in line) + "\n" for line in cells)
    compress = {"": bytes, "gz": gzip.compress, "zst": zstandard.compress}[compression]
    return compress(text.encode())


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file's content and returns its path."""

    def put(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def settings_of(**options: Any) -> dict[str, Any]:
    """Return the configuration's `corpus` with the defaults that a user gets."""
    return Corpus(files=["c"], **options).model_dump(mode="json")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[list[Row], dict[str, Any]]]:
    """Return a function that runs the reading stage over files: (rows, its fingerprint)."""

    def run(*paths: Path, **options: Any) -> tuple[list[Row], dict[str, Any]]:
        given = settings_of(**options)
        found = fingerprint_corpus(
            [str(path) for path in paths],
            given["columns"],
            given["dialect"],
            given["policy"],
            tmp_path / "source.parquet",
            tmp_path / "source.json",
        )
        return pq.read_table(tmp_path / "source.parquet").to_pylist(), found

    return run


@pytest.fixture
def split(read: Callable, tmp_path: Path) -> Callable[..., tuple[list[Row], dict[str, Any]]]:
    """Return a function that reads and splits with a tokenizer: (entries, fingerprint)."""

    def run(*paths: Path, tokenizer: Any, settings: dict | None = None, **options: Any):
        given = settings_of(**options)
        read(*paths, **options)
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        write_json(
            tmp_path / "settings.json",
            {"tokenizer_digest": "t", "pad_token": None, "eos_token": None, **(settings or {})},
        )
        names = ("entries", "evaluation", "reference", "tuning")
        facts = split_buckets(
            tmp_path / "source.parquet",
            tmp_path / "source.json",
            tmp_path / "tokenizer.json",
            tmp_path / "settings.json",
            given["sample"],
            given["label_map"],
            given["policy"]["empty_text"],
            Tables(*(tmp_path / f"{name}.parquet" for name in names)),
            tmp_path / "fingerprint.json",
        )
        return pq.read_table(tmp_path / "entries.parquet").to_pylist(), facts

    return run


def words_tokenizer(names: Sequence[str], before: str = "", after: str = "") -> Any:
    """Return a tokenizer with one token a word; `before` and `after` are added to every text."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {name: number for number, name in enumerate(dict.fromkeys(names))}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    built.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    added = [name for name in (before, after) if name]
    if added:
        built.post_processor = processors.TemplateProcessing(
            single=" ".join([before, "$A", after]).strip(),
            special_tokens=[(name, vocabulary[name]) for name in added],
        )
    return built


@pytest.fixture
def tokenizer() -> Callable[..., Any]:
    """Return a maker of tokenizers."""
    return words_tokenizer


@pytest.fixture(name="encoded")
def _encoded() -> Callable[[Sequence[Row], str], bytes]:
    """Return the function that encodes rows as a file."""
    return encoded


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "</s>"]
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 32,
    "initializer_range": 0.6,
    "pad_token_id": 0,
}


@dataclass
class SavedModel:
    """A small classifier of random weights with its tokenizer, as a user has them on disk."""

    folder: Path
    model_stages: Callable[..., Any]

    def save(self, kind: str = "bert", tokens: dict | None = None, **changes: Any) -> "SavedModel":
        """Write model and tokenizer; `tokens` are the tokenizer's options, None takes one out."""
        import torch
        from transformers import (
            AutoConfig,
            AutoModelForSequenceClassification,
            PreTrainedTokenizerFast,
        )

        names = [*SPECIAL, *(f"w{number}" for number in range(20))]
        ends = ("[CLS]", "[SEP]") if kind in ("bert", "roberta", "distilbert") else ("", "")
        options = {"pad_token": "[PAD]", "model_max_length": 32, **(tokens or {})}
        built = options.pop("built", None) or words_tokenizer(names, *ends)
        PreTrainedTokenizerFast(
            tokenizer_object=built,
            unk_token="[UNK]",
            eos_token="</s>",
            **{name: value for name, value in options.items() if value is not None},
        ).save_pretrained(self.folder)
        torch.manual_seed(1)
        heads = {"num_key_value_heads": 2} if kind in ("llama", "mistral") else {}
        config = AutoConfig.for_model(
            kind, **{**SMALL, **heads, "vocab_size": len(names), **changes}
        )
        AutoModelForSequenceClassification.from_config(config).save_pretrained(self.folder)
        return self

    def edit(self, name: str, **changes: Any) -> None:
        """Change keys of a JSON file; None takes a key out."""
        content = {**json.loads((self.folder / name).read_text()), **changes}
        kept = {key: value for key, value in content.items() if value is not None}
        (self.folder / name).write_text(json.dumps(kept))

    def check(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run both model stages as their rules do: (tokenizer's settings, fingerprint)."""
        return self.model_stages(self.folder, self.folder.parent, **options)

    def logits(self, texts: Sequence[str], batch_size: int, **variant: Any) -> Any:
        """Return the logits of texts in batches, computed as a pass computes them."""
        import numpy as np

        from atpar.config.variants import Variant
        from atpar.engine.batching import Padding, pad
        from atpar.engine.classifier import Classifier, architecture, model_class
        from atpar.engine.devices import CpuDevice
        from atpar.engine.tokens import Encoder, usable_length

        out, device = self.folder.parent, CpuDevice("a CPU")
        settings = json.loads((out / "settings.json").read_text())
        facts = json.loads((out / "fingerprint.json").read_text())
        row = Variant(variant="v", batch_size=batch_size, **variant).model_dump(mode="json")
        longest = usable_length(
            row["max_length"], facts["usable_length"], settings["model_max_length"]
        )
        encoder = Encoder(out / "tokenizer.json", longest)
        classifier = Classifier(
            model_class(architecture(self.folder)),
            self.folder,
            variant=row,
            target="cpu",
            pad_token_id=facts["pad_token_id"],
        )
        padding = Padding(facts["pad_token_id"], side=row["pad_side"] or settings["padding_side"])
        found = []
        for start in range(0, len(texts), batch_size):
            encoded = encoder.encode(texts[start : start + batch_size])
            rows = np.arange(start, start + len(encoded.ids))
            batch = pad(rows, encoded.ids, encoded.types, padding)
            inputs = [batch.ids, batch.mask, batch.types]
            given = [None if one is None else device.upload(one) for one in inputs]
            found += device.download([classifier(*given)])()
        return np.concatenate(found)


@pytest.fixture
def model(tmp_path: Path, model_stages: Callable[..., Any]) -> SavedModel:
    """Return a model to be saved, in a folder of its own."""
    return SavedModel(tmp_path / "model", model_stages)


@pytest.fixture
def labels_of(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that checks reference labels against a model's fingerprint."""
    from atpar.model.labels import check_labels

    def run(facts: dict[str, Any], used: Sequence[str]) -> dict[str, Any]:
        ids = [f"e{number}" for number in range(len(used))]
        table = pa.table({"id": ids, "label": pa.array(used, pa.large_string())})
        pq.write_table(table, tmp_path / "used.parquet")
        write_json(tmp_path / "facts.json", facts)
        return check_labels(tmp_path / "used.parquet", tmp_path / "facts.json", tmp_path / "out")

    return run


def _of(folder: str) -> Any:
    """Return what the tests in another folder share."""
    path = Path(__file__).resolve().parents[1] / folder / "conftest.py"
    spec = importlib.util.spec_from_file_location(f"shared_{folder}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Any]:
    """Return a maker of campaigns as they lie on disk once their passes are recorded."""
    return _of("unit").maker(tmp_path)


@pytest.fixture(scope="session")
def plain(built_campaign: Any) -> dict[str, Any]:
    """Return the record of a plain pass over the tiny campaign, from an odd shell."""
    with pytest.MonkeyPatch.context() as shell:
        shell.setenv("TOKENIZERS_PARALLELISM", "whatever was set before")
        shell.setenv("RAYON_NUM_THREADS", "7")
        record = built_campaign.measure("plain")
    assert record["status"] == "ok", record
    return record
