"""The corpora of scale.py, and predictions of two passes over them as a worker writes them."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from atpar.canonical import file_digest
from atpar.config.offers import Offer
from atpar.config.protocol import Protocol
from atpar.config.variants import Variant
from atpar.engine.clocks import WallAndMonotonic
from atpar.engine.job import Inputs
from atpar.engine.outcome import Outcome
from atpar.engine.record import finished_record, started_record
from atpar.journal import journal

TEXT = pa.large_string()
ROWS = 50_000
WORKER_ROWS = 16_384
"""Predictions that a worker writes at a time."""
MOST_SENTENCES = 3
PROTOCOL = Protocol.model_validate(
    {
        "repetitions": 1,
        "minimum": 0.0,
        "metrics": ["accuracy", "macro_f1"],
        "subgroups": ["label"],
        "tolerance": {"reference": "reference", "largest_drop": 1.0},
    }
).model_dump(mode="json")
"""Of the judged campaign: two metrics, subgroups, and no limit that rejects a pass."""
RIGHT, CHANGED = 0.9, 0.001
"""Share of texts that the reference pass labels rightly; spread of the other pass' scores."""


def make(folder: Path, texts: str, example: str) -> Callable:
    """Return a function that writes a corpus of so many texts, and a model's labels."""

    def write() -> None:
        sentences, labels = _sentences(Path(example) / "corpus.parquet")
        schema = pa.schema([(name, TEXT) for name in ("id", "text", "label")])
        with (
            pa.ipc.new_file(str(folder / "corpus.arrow"), schema) as arrow,
            pq.ParquetWriter(folder / "corpus.parquet", schema, compression="zstd") as parquet,
            pa.csv.CSVWriter(str(folder / "corpus.csv"), schema) as delimited,
            (folder / "corpus.jsonl").open("w", encoding="utf-8") as lines,
        ):
            for batch in _texts(int(texts), sentences, labels):
                arrow.write_batch(batch)
                parquet.write_batch(batch)
                delimited.write_batch(batch)
                lines.writelines(json.dumps(one) + "\n" for one in batch.to_pylist())
        shutil.copy2(Path(example) / "tokenizer" / "tokenizer.json", folder)
        named = sorted(set(labels.to_pylist()))
        digests = {"model_digest": "m" * 64, "tokenizer_digest": "t" * 64}
        _json(folder / "model.json", {"labels": named, **digests})
        _json(folder / "seal.json", {"digest": "s" * 64, "sealed": {"protocol": PROTOCOL}})
        _json(folder / "tokenizer_settings.json", {"pad_token": "[PAD]", **digests})
        _json(folder / "made.json", {"texts": int(texts)})
        _json(folder / "environment.json", {"digest": "e" * 64, "device": {"kind": "cpu"}})
        (folder / "exclusions.tsv").write_text("attempt_id\tcause\tevidence\n")

    return write


def _sentences(corpus: Path) -> tuple[pa.Array, pa.Array]:
    """Return the example's sentences, and the label of the text that each is from."""
    table = pq.read_table(corpus)
    pairs = [
        (sentence.strip().rstrip(".") + ".", label)
        for text, label in zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)
        for sentence in text.split(". ")
        if sentence.strip()
    ]
    sentences, labels = zip(*pairs, strict=True)
    return pa.array(sentences, TEXT), pa.array(labels, TEXT)


def _texts(texts: int, sentences: pa.Array, labels: pa.Array) -> Iterator[pa.RecordBatch]:
    """Give texts of one to three sentences, each with the label of its first."""
    random = np.random.default_rng(0)
    space = pa.scalar(" ", TEXT)
    for start in range(0, texts, ROWS):
        rows = min(ROWS, texts - start)
        wanted = random.integers(1, MOST_SENTENCES + 1, rows)
        chosen = [random.integers(0, len(sentences), rows) for _ in range(MOST_SENTENCES)]
        parts = [
            sentences.take(pa.array(places, mask=wanted <= number))
            for number, places in enumerate(chosen)
        ]
        numbers = pa.array(np.arange(start, start + rows)).cast(TEXT)
        yield pa.record_batch(
            [
                pc.utf8_lpad(numbers, 8, "0"),
                pc.binary_join_element_wise(*parts, space, null_handling="skip"),
                labels.take(pa.array(chosen[0])),
            ],
            ["id", "text", "label"],
        )


def predict(folder: Path) -> Callable:
    """Return a function that writes predictions, record and journal of two passes."""

    def write() -> None:
        labels = json.loads((folder / "model.json").read_text())["labels"]
        schema = pa.schema(
            [
                ("id", pa.string()),
                ("predicted", pa.string()),
                ("scores", pa.list_(pa.float32(), len(labels))),
            ],
            metadata={"labels": json.dumps(labels)},
        )
        (folder / "predictions").mkdir()
        paths = [folder / "predictions" / f"{option}.parquet" for option in ("reference", "other")]
        with (
            pq.ParquetWriter(paths[0], schema) as reference,
            pq.ParquetWriter(paths[1], schema) as other,
        ):
            for ids, *scores in _scores(folder / "reference.parquet", labels):
                reference.write_batch(_predictions(ids, scores[0], schema, labels))
                other.write_batch(_predictions(ids, scores[1], schema, labels))
        for path in paths:
            _record(folder, path)

    return write


def _scores(answers: Path, labels: list[str]) -> Iterator[tuple[pa.Array, np.ndarray, np.ndarray]]:
    """Give ids, and the scores of two passes that differ a little."""
    random = np.random.default_rng(1)
    with pq.ParquetFile(answers) as file:
        for batch in file.iter_batches(WORKER_ROWS, columns=["id", "label"]):
            codes = pc.index_in(batch.column("label"), pa.array(labels, TEXT)).to_numpy()
            powers = random.exponential(size=(len(codes), len(labels))).astype(np.float32)
            right = np.flatnonzero(random.random(len(codes)) < RIGHT)
            powers[right, codes[right]] += 50
            scores = powers / powers.sum(axis=1, keepdims=True)
            noise = random.normal(scale=CHANGED, size=scores.shape).astype(np.float32)
            yield batch.column("id"), scores, np.clip(scores + noise, 0, 1)


def _predictions(
    ids: pa.Array, scores: np.ndarray, schema: pa.Schema, labels: list[str]
) -> pa.RecordBatch:
    named = pa.array(labels).take(pa.array(scores.argmax(axis=1)))
    flat = pa.array(scores.reshape(-1))
    lists = pa.FixedSizeListArray.from_arrays(flat, type=schema.field("scores").type)
    return pa.record_batch([ids.cast(pa.string()), named, lists], schema=schema)


def _record(folder: Path, path: Path) -> None:
    """Write the record of the pass that gave these predictions, and its attempt in the journal."""
    option, entries = path.stem, pq.read_metadata(path).num_rows
    clock = WallAndMonotonic()
    inputs = dict.fromkeys(Inputs.__dataclass_fields__, "") | {
        "fingerprint": str(folder / "model.json"),
        "corpus_fingerprint": str(folder / "fingerprint.json"),
        "seal": str(folder / "seal.json"),
        "environment": str(folder / "environment.json"),
    }
    offer = Offer(offer="here", provider="-", gpu="-", device="cpu")
    started = started_record(
        {
            "campaign": "scale",
            "protocol": PROTOCOL,
            "offer": offer.model_dump(mode="json"),
            "variant": Variant(variant=option, batch_size=1).model_dump(mode="json"),
        },
        Inputs(**inputs),
        repetition=1,
        number=1,
        place={"rank": 0, "round": 1, "position": 0},
        session="scale",
        software={},
        clock=clock,
    )
    result = {"main_time_s": 1.0, "entries_completed": entries, "phase": "done"}
    record = finished_record(started, Outcome("ok", None), result, {}, clock) | {
        "entries_expected": entries,
        "predictions_path": str(path),
        "predictions_digest": file_digest(path),
        "exit_code": 0,
    }
    name = {"attempt_id": record["attempt_id"]}
    events = folder / "journal" / "here.jsonl"
    journal.append(events, {"event": "started", "record": started, **name})
    journal.append(events, {"event": "finished", "record": record, **name})
    _json(folder / "passes" / f"{option}.json", record)


def _json(path: Path, value: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
