"""A campaign's folder as the engine finds it: corpus, tokenizer, tiny model, seal, environment."""

import csv
import json
import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples each time, so that a change is judged by what it does; `make fuzz` draws anew.
settings.register_profile("ordinary", derandomize="FUZZ_EXAMPLES" not in os.environ)
settings.load_profile("ordinary")

WORDS = ["apple", "pear", "plum", "cherry", "grape", "hammer", "saw", "drill", "wrench", "chisel"]
LABELS = ["fruit", "tool"]
WARM_UP = {"entries": 4, "passes": 1}
PROTOCOL = {
    "warm_up": WARM_UP,
    "seed": 0,
    "deterministic": True,
    "pass_timeout_s": 120.0,
    "busy_device": "note",
}


CSV_LIMIT = 131_072
"""Longest cell that Python's csv module reads unless it is told otherwise."""


@pytest.fixture(autouse=True)
def csv_limit():
    """Give each test the csv module as a process starts with it: stages of a process set it."""
    csv.field_size_limit(CSV_LIMIT)


@dataclass
class EngineCampaign:
    """The files that passes read, and passes over them in this process."""

    folder: Path
    entries: int = 40
    positions: int = 64
    protocol: dict = field(default_factory=lambda: dict(PROTOCOL))
    device: str = "cpu"

    @property
    def results(self) -> Path:
        return self.folder / "results" / "tiny"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def journal(self) -> Path:
        return self.results / "journal" / "here.jsonl"

    def build(self) -> "EngineCampaign":
        """Write everything that a pass reads."""
        from atpar.engine.environment import inspect_offer

        self.write_corpus(self.entries)
        self.write_model()
        self.fingerprint()
        digests = {"evaluation_digest": "e" * 64, "corpus_digest": "c" * 64}
        self._json("corpus/fingerprint.json", digests)
        self._json("protocol/seal.json", {"digest": "s" * 64, "sealed": {}})
        inspect_offer(
            {"offer": "here", "device": self.device}, self.results / "offers/here/environment.json"
        )
        return self

    def texts(self, entries: int) -> list[str]:
        """Return texts of 1 to 40 words, the same each time."""
        draw = random.Random(7)
        return [" ".join(draw.choices(WORDS, k=draw.randint(1, 40))) for _ in range(entries)]

    def write_corpus(self, entries: int) -> None:
        """Write the evaluation corpus."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.entries = entries
        ids = [f"e{number:06d}" for number in range(entries)]
        table = pa.table({"id": ids, "text": pa.array(self.texts(entries), pa.large_string())})
        (self.results / "corpus").mkdir(parents=True, exist_ok=True)
        pq.write_table(table, self.results / "corpus/evaluation.parquet")

    def write_model(self, **changes) -> None:
        """Save a two-layer BERT classifier with random weights and its tokenizer."""
        import torch
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
        from transformers import BertConfig, BertForSequenceClassification

        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
        vocabulary = {word: index for index, word in enumerate(words)}
        tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        (self.results / "model").mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(self.results / "model/tokenizer.json"))
        settings = {
            "tokenizer_digest": "t" * 64,
            "class": "BertTokenizer",
            "model_max_length": self.positions,
            "pad_token": "[PAD]",
            "pad_token_id": 0,
            "padding_side": "right",
            "truncation_side": "right",
            "input_names": ["input_ids", "token_type_ids", "attention_mask"],
        }
        self._json("model/tokenizer_settings.json", settings)
        self._json("model/labels.json", {"labels": LABELS})
        torch.manual_seed(7)
        options = {
            "vocab_size": len(words),
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "max_position_embeddings": self.positions,
            "id2label": dict(enumerate(LABELS)),
            "label2id": {label: index for index, label in enumerate(LABELS)},
            "initializer_range": 0.5,
        }
        model = BertForSequenceClassification(BertConfig(**{**options, **changes}))
        model.save_pretrained(self.model)

    def fingerprint(self) -> None:
        """Fingerprint the model's files as they are now."""
        from atpar.canonical import file_digest

        files = [
            {"path": str(path), "sha256": file_digest(path), "bytes": path.stat().st_size}
            for path in sorted(self.model.iterdir())
        ]
        self._json(
            "model/fingerprint.json",
            {
                "model_digest": "m" * 64,
                "tokenizer_digest": "t" * 64,
                "files": files,
                "source": str(self.model),
                "usable_length": self.positions,
                "pad_token_id": 0,
                "labels": LABELS,
            },
        )

    def _json(self, name: str, value) -> None:
        path = self.results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")

    def settings(self, variant: str = "b4", **options) -> dict:
        """Return a pass's settings as the rule hands them over."""
        from atpar.config.offers import Offer
        from atpar.config.variants import Variant

        row = Variant(variant=variant, **{"batch_size": 4, **options})
        offer = Offer(
            offer="here", provider="this-machine", gpu="cpu", device=self.device, threads=1
        )
        return {
            "campaign": "tiny",
            "variant": row.model_dump(mode="json"),
            "offer": offer.model_dump(mode="json"),
            "protocol": self.protocol,
        }

    def one_pass(self, variant: str = "b4", repetition: int = 1, **options):
        """Return a pass of a variant with these options."""
        from atpar.engine.job import Inputs
        from atpar.engine.supervisor import Pass

        results = self.results
        return Pass(
            settings=self.settings(variant, **options),
            inputs=Inputs.of_campaign(results, "here"),
            repetition=repetition,
            place={"rank": 0, "round": 1, "position": 0},
            results=results,
            record=results / f"passes/here/{variant}/{repetition}.json",
            predictions=results / f"predictions/here/{variant}/{repetition}.parquet",
            lock_folder=str(self.folder / "locks"),
        )

    def measure(self, variant: str = "b4", repetition: int = 1, **options) -> dict:
        """Measure a pass and return its record."""
        from atpar.engine.supervisor import measure_pass

        return measure_pass(self.one_pass(variant, repetition, **options))

    def predictions(self, variant: str = "b4", repetition: int = 1):
        """Return a pass's published predictions."""
        import pyarrow.parquet as pq

        return pq.read_table(self.results / f"predictions/here/{variant}/{repetition}.parquet")


@pytest.fixture(scope="session")
def built_campaign(tmp_path_factory) -> EngineCampaign:
    """One campaign's files, built once; use `campaign` for a copy of your own."""
    return EngineCampaign(tmp_path_factory.mktemp("engine")).build()


@pytest.fixture(scope="session")
def gpu_campaign(tmp_path_factory) -> EngineCampaign:
    """A campaign whose offer is this machine's GPU, with one plain pass measured."""
    campaign = EngineCampaign(tmp_path_factory.mktemp("gpu"), device="cuda").build()
    assert campaign.measure("plain")["status"] == "ok"
    return campaign


@pytest.fixture
def campaign(built_campaign, tmp_path) -> EngineCampaign:
    """A campaign in a folder of its own."""
    copy = EngineCampaign(tmp_path, built_campaign.entries, built_campaign.positions)
    # Tests that only look at a record measure in the shared campaign: what they left stays there.
    measured = shutil.ignore_patterns("journal", "attempts", "passes", "predictions")
    shutil.copytree(built_campaign.folder, tmp_path, dirs_exist_ok=True, ignore=measured)
    copy.fingerprint()
    return copy


@pytest.fixture(scope="session")
def model_stages():
    """Return a function that runs both model stages of a folder as their rules do.

    It writes tokenizer.json, settings.json and fingerprint.json into `out`, and returns the
    tokenizer's settings and the fingerprint; `options` are those of the configuration's `model`.
    """
    from atpar.config.model import ModelSource
    from atpar.model.files import model_files, tokenizer_files
    from atpar.model.fingerprint import fingerprint_model
    from atpar.model.tokenizer import prepare_tokenizer

    def run(folder: Path, out: Path, **options):
        source = ModelSource(path=str(folder), **options)
        tokenizer = prepare_tokenizer(
            [Path(path) for path in tokenizer_files(source)],
            source.pad_token,
            source.trust_remote_code,
            out / "tokenizer.json",
            out / "settings.json",
        )
        facts = fingerprint_model(
            [Path(path) for path in model_files(source)],
            out / "tokenizer.json",
            out / "settings.json",
            str(folder),
            None,
            source.labels,
            source.trust_remote_code,
            source.allow_pickle,
            out / "fingerprint.json",
            source.head,
        )
        return tokenizer, facts

    return run


INJECTOR = '''
"""Runs the test's code in the worker, right after a module of its is imported."""

import importlib.abc
import importlib.machinery
import os
import sys

FAULTS = dict(part.split("=", 1) for part in os.environ["ATPAR_TEST_FAULTS"].split("\\x1f"))


class Injector(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in FAULTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            exec(FAULTS[name], vars(module))

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Injector())
'''


@pytest.fixture
def inject(tmp_path, monkeypatch):
    """Return a function that puts faults into real workers: `inject("atpar.engine.span", code)`.

    From outside: the product has no hooks for them.
    """
    folder = tmp_path / "injector"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(INJECTOR)
    before = os.environ.get("PYTHONPATH")

    def put(module: str, code: str) -> None:
        others = os.environ.get("ATPAR_TEST_FAULTS")
        faults = [*([others] if others else []), f"{module}={code}"]
        monkeypatch.setenv("ATPAR_TEST_FAULTS", "\x1f".join(faults))
        path = os.pathsep.join([str(folder), *([before] if before else [])])
        monkeypatch.setenv("PYTHONPATH", path)

    def clear() -> None:
        monkeypatch.delenv("ATPAR_TEST_FAULTS")
        if before is None:
            monkeypatch.delenv("PYTHONPATH")
        else:
            monkeypatch.setenv("PYTHONPATH", before)

    put.clear = clear
    return put
