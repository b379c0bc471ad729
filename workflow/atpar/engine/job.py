"""What the supervisor asks of a worker, and where the two leave things for each other."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atpar.canonical import write_json

ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**60)}
"""Has glibc keep the memory of a batch for the next one. By default it hands large buffers back to
the system layer by layer, which then gives them again page by page: up to 5 % of a span on a CPU.
Other C libraries know none of it."""


@dataclass(frozen=True)
class Inputs:
    """Files of the campaign that a pass reads."""

    corpus: str
    corpus_fingerprint: str
    tokenizer: str
    tokenizer_settings: str
    fingerprint: str
    labels: str
    seal: str
    environment: str
    onnx: str | None = None
    """The exported model, for a variant whose backend is onnxruntime."""
    resumed_record: str | None = None
    """For a variant with `resume`: the record of the recovered variant's pass,"""
    resumed_predictions: str | None = None
    """and its predictions."""

    @classmethod
    def of_campaign(cls, results: Path, offer: str) -> "Inputs":
        """Return the files of an offer's passes in a campaign's folder, the exported model too."""
        return cls(
            corpus=str(results / "corpus/evaluation.parquet"),
            corpus_fingerprint=str(results / "corpus/fingerprint.json"),
            tokenizer=str(results / "model/tokenizer.json"),
            tokenizer_settings=str(results / "model/tokenizer_settings.json"),
            fingerprint=str(results / "model/fingerprint.json"),
            labels=str(results / "model/labels.json"),
            seal=str(results / "protocol/seal.json"),
            environment=str(results / f"offers/{offer}/environment.json"),
            onnx=str(results / "model/onnx/model.onnx"),
        )


@dataclass(frozen=True)
class Job:
    """One attempt, as `job.json` in its folder."""

    attempt_id: str
    folder: str
    inputs: Inputs
    variant: dict[str, Any]
    offer: dict[str, Any]
    protocol: dict[str, Any]
    lock_folder: str
    threads: int
    """Threads of each process."""
    seed: int = 0
    """Seed of torch's random generators; nothing else in a pass draws."""
    parent: int = 0
    """Process id of the supervisor."""
    spawned_s: float = 0.0
    """Monotonic clock of the machine when the worker was started."""
    environment: dict[str, str] = field(default_factory=dict)
    """Environment variables set for the worker."""

    @property
    def processes(self) -> int:
        """How many processes share the pass."""
        return self.variant["processes"]

    def cards_of(self, count: int) -> int:
        """Return how many of so many GPUs the pass computes on."""
        return count if self.variant["device_map"] else self.processes

    def write(self) -> Path:
        """Write the job into its folder and return the file."""
        path = Path(self.folder) / "job.json"
        write_json(path, asdict(self))
        return path

    @classmethod
    def read(cls, path: Path) -> "Job":
        """Read a job written by `write`."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**values, "inputs": Inputs(**values["inputs"])})


def seed_of(variant: Mapping[str, Any], protocol: Mapping[str, Any], repetition: int) -> int:
    """Return a pass's seed: the variant's own, or the protocol's for this repetition (from 1)."""
    if variant["seed"] is not None:
        return variant["seed"]
    seeds = protocol.get("seeds") or [protocol["seed"]]
    return seeds[(repetition - 1) % len(seeds)]


def worker_environment(threads: int, deterministic: bool) -> dict[str, str]:
    """Return the environment variables that a worker is started with.

    Thread counts are said to every library, memory stays with the process, nothing reaches the
    network, and devices are ordered as the driver's tools order them.
    """
    count = str(threads)
    variables = {
        **ALLOCATOR,
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": count,
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TQDM_DISABLE": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "PYTHONHASHSEED": "0",
        "PYTHONFAULTHANDLER": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if deterministic:
        variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    return variables


def model_folder(fingerprint: dict[str, Any]) -> Path:
    """Return the folder of the model's files, from model/fingerprint.json."""
    config = next(one for one in fingerprint["files"] if Path(one["path"]).name == "config.json")
    path = Path(config["path"])
    return path.parent if path.exists() else Path(fingerprint["source"], path).parent
