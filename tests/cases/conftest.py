"""What the tests of cases share: corpus files of every kind, and both corpus stages over them."""

import gzip
import io
import json
from collections.abc import Callable, Sequence
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
