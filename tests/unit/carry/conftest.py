"""Synthetic nodes: the files that measuring leaves, without measuring."""

import json
from pathlib import Path

import pytest

from atpar.canonical import file_digest, write_json, write_text
from atpar.carry.plan import Expected
from atpar.journal import journal

VARIANTS = {
    name: {"variant": name, "series": "first", "batch_size": size, "precision": "fp32"}
    for name, size in (("b1", 1), ("b4", 4))
}
DIGESTS = {"seal": "5" * 64, "corpus": "c" * 64, "evaluation": "e" * 64, "model": "a" * 64}


class Node:
    """A campaign's folder as one node leaves it."""

    def __init__(self, folder: Path, **digests: str) -> None:
        self.results = folder / "results" / "three"
        self.digests = {**DIGESTS, **digests}

    def identify(self) -> "Node":
        """Write what the node measures against."""
        digests = self.digests
        write_json(self.results / "protocol/seal.json", {"digest": digests["seal"]})
        write_json(
            self.results / "corpus/fingerprint.json",
            {
                "corpus_digest": digests["corpus"],
                "evaluation_digest": digests["evaluation"],
            },
        )
        write_text(self.results / "corpus/reference.parquet", "ids and labels")
        write_json(
            self.results / "model/fingerprint.json",
            {"model_digest": digests["model"], "tokenizer_digest": "t" * 64},
        )
        return self

    def environment(self, offer: str, driver: str = "570.1") -> str:
        """Write an offer's environment and return its digest."""
        digest = ("d" + driver.replace(".", "")).ljust(64, "0")
        write_json(
            self.results / f"offers/{offer}/environment.json", {"digest": digest, "driver": driver}
        )
        return digest

    def start(self, offer: str, variant: str, repetition: int, number: int = 1) -> dict:
        """Begin an attempt and return its record."""
        record = {
            "attempt_id": f"{offer}/{variant}/{repetition}/{number}",
            "attempt_number": number,
            "offer": offer,
            "variant": variant,
            "repetition": repetition,
            "status": None,
            "phase": "start",
            "started_utc": f"2026-11-30T0{repetition}:0{number}:00+00:00",
            "variant_settings": VARIANTS[variant],
            "predictions_digest": None,
            "notes": [],
        }
        folder = self.attempt(record)
        write_json(folder / "job.json", {"attempt": record["attempt_id"]})
        write_text(folder / "worker.log", "started\n")
        (folder / "alive").touch()
        self._append("started", record)
        return record

    def finish(self, record: dict, status: str = "ok", text: str = "predicted") -> dict:
        """End an attempt and write its record and predictions."""
        kept = self.attempt(record) / "predictions.parquet"
        write_text(kept, f"{text} {record['attempt_id']}")
        ended = {
            **record,
            "status": status,
            "phase": "done",
            "predictions_digest": file_digest(kept),
        }
        self._append("finished", ended)
        name = f"{record['offer']}/{record['variant']}/{record['repetition']}"
        write_text(self.results / f"predictions/{name}.parquet", kept.read_text())
        write_json(self.results / f"passes/{name}.json", ended)
        return ended

    def measure(self, offer: str, *repetitions: int, variants=("b1", "b4"), number=1) -> "Node":
        """Measure variants in an offer's repetitions."""
        self.environment(offer)
        for repetition in repetitions:
            for variant in variants:
                self.finish(self.start(offer, variant, repetition, number))
        return self

    def attempt(self, record: dict) -> Path:
        """Return an attempt's folder."""
        name = f"{record['repetition']}-{record['attempt_number']}"
        return self.results / "attempts" / record["offer"] / record["variant"] / name

    def _append(self, event: str, record: dict) -> None:
        path = self.results / "journal" / f"{record['offer']}.jsonl"
        journal.append(path, {"event": event, "attempt_id": record["attempt_id"], "record": record})

    def files(self) -> dict[str, bytes]:
        """Return every file but receipts and incoming archives: path -> bytes."""
        left_out = ("incoming/", "merged/", "export/", ".merging.lock")
        return {
            name: path.read_bytes()
            for path in sorted(self.results.rglob("*"))
            if path.is_file()
            and not (name := path.relative_to(self.results).as_posix()).startswith(left_out)
        }


def expected(here=(), **changes) -> Expected:
    """Return the configuration of a checkout with three offers."""
    values = {
        "campaign": "three",
        "offers": ("a", "b", "c"),
        "here": tuple(here),
        "variants": json.loads(json.dumps(VARIANTS)),
    }
    return Expected(**{**values, **changes})


@pytest.fixture
def node(tmp_path):
    """Return a maker of nodes: node("name", seal=...)."""
    return lambda name, **digests: Node(tmp_path / name, **digests).identify()


@pytest.fixture
def laptop(tmp_path):
    """A checkout in which nothing was measured or built."""
    return Node(tmp_path / "laptop")


@pytest.fixture
def configured():
    """Return the maker of a checkout's configuration."""
    return expected
