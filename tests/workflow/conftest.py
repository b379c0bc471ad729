"""A workspace as a user has one: the repository's files, a small corpus, a small real model.

Tests run the real `snakemake` in it. One campaign is measured once per session; each test that
changes something works on a copy that keeps the files' times, as Snakemake compares them.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from filelock import FileLock

REPOSITORY = Path(__file__).resolve().parents[2]
CARRIED = ["Snakefile", "workflow", "config", "profiles", "resources/tariffs"]
WORDS = {
    "fruit": ["apple", "pear", "plum", "cherry", "grape"],
    "tool": ["hammer", "saw", "drill", "wrench", "chisel"],
}


class Workspace:
    """A folder with the workflow, and the commands that a user gives in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def results(self) -> Path:
        """The campaign's results."""
        return self.folder / "results" / "small"

    def snakemake(self, *arguments: str, expect: int | None = 0) -> subprocess.CompletedProcess:
        """Run snakemake on the small campaign; `expect` is the exit status, None for any."""
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments, "--configfile", "small.yaml"],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=540,
            check=False,
        )
        if expect is not None:
            assert done.returncode == expect, done.stdout[-4000:] + done.stderr[-6000:]
        return done

    def environment(self) -> dict[str, str]:
        """Return the variables of a user's shell, with this workspace's atpar before any other."""
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder / "workflow"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def to_run(self, *arguments: str) -> dict[str, int]:
        """Return rule -> number of jobs that a dry run would run, target rules aside."""
        done = self.snakemake(*arguments, "-n", "--quiet", "host", "reason")
        return planned_jobs(done.stdout + done.stderr)

    def configure(self, **changes) -> None:
        """Merge `changes` (nested) into the small campaign's configuration."""
        path = self.folder / "small.yaml"
        merged = yaml.safe_load(path.read_text())
        _merge(merged, changes)
        path.write_text(yaml.safe_dump(merged))

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace text in a file; the old text must be there."""
        path = self.folder / name
        text = path.read_text()
        assert old in text, f"{old!r} isn't in {name}"
        path.write_text(text.replace(old, new))

    def copy(self, folder: Path) -> "Workspace":
        """Return a copy that keeps the files' times."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Workspace(folder)


def planned_jobs(output: str) -> dict[str, int]:
    """Return rule -> count from the table that snakemake prints, without totals and targets."""
    table = output.partition("Job stats:")[2].partition("\n\n")[0]
    counts = dict(re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE))
    return {rule: int(n) for rule, n in counts.items() if rule not in ("total", "all", "passes")}


def _merge(into: dict, changes: dict) -> None:
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def carry(folder: Path) -> None:
    """Copy what a clone of the repository holds and the workflow uses."""
    for name in CARRIED:
        source, target = REPOSITORY / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)


def small_corpus(path: Path, entries: int = 24) -> None:
    """Write a CSV of `entries` short and medium texts with two labels."""
    lines = ["id,text,label"]
    for number in range(entries):
        label = ("fruit", "tool")[number % 2]
        words = [WORDS[label][(number + step) % 5] for step in range(2 + 6 * (number % 3 == 0))]
        lines.append(f"e{number:03d},{' '.join(words)},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def small_model(folder: Path, labels: Iterable[str] = ("fruit", "tool")) -> None:
    """Save a two-layer BERT classifier with random weights and a WordPiece tokenizer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    labels = list(labels)
    folder.mkdir(parents=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = special + [word for group in WORDS.values() for word in group]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(words) + "\n")
    BertTokenizerFast(vocab=str(vocabulary), model_max_length=64).save_pretrained(folder)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
    )
    BertForSequenceClassification(config).save_pretrained(folder)


SMALL = {
    "campaign": "small",
    "corpus": {
        "files": ["corpus.csv"],
        "columns": {"split": None},
        "sample": {
            "buckets": [
                {"name": "short", "up_to_tokens": 6, "entries": 8},
                {"name": "medium", "up_to_tokens": None, "entries": 4},
            ]
        },
    },
    "model": {"path": "model"},
    # Of this workspace alone: two tests may measure at the same time.
    "lock_folder": "locks",
    "protocol": {
        # The small model's weights are random, so no quality is asked of it.
        "minimum": 0.0,
        "repetitions": 2,
        "warm_up": {"entries": 4},
        "subgroup_size": 3,
        "minimum_span_s": 0,
        "pass_timeout_s": 120,
    },
    "tables": {
        name: f"config/demo/{name}.tsv" for name in ("variants", "offers", "calendar", "expenses")
    },
}


def built_once(tmp_path_factory, name: str, build: Callable[[Path], None]) -> Workspace:
    """Return the session's workspace of this name; of several test processes, one builds it."""
    session = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        session = session.parent
    # Every user has such a path sooner or later: with a space and an apostrophe.
    folder, built = session / name / "my node's work", session / f"{name}.built"
    with FileLock(session / f"{name}.lock"):
        if not built.exists():
            shutil.rmtree(folder.parent, ignore_errors=True)
            folder.parent.mkdir()
            build(folder)
            built.touch()
    return Workspace(folder)


def write_small_campaign(folder: Path) -> None:
    """Lay out the repository's files, the small corpus, model and configuration in `folder`."""
    folder.mkdir()
    carry(folder)
    small_corpus(folder / "corpus.csv")
    small_model(folder / "model")
    (folder / "small.yaml").write_text(yaml.safe_dump(SMALL))


SECRETS = {
    name: f"planted-{name.lower().replace('_', '-')}-5e21"
    for name in (
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "SNAKEMAKE_STORAGE_S3_ACCESS_KEY",
        "SNAKEMAKE_STORAGE_S3_SECRET_KEY",
        "PIP_INDEX_URL",
    )
}
"""Variables that a node's environment may hold, and what stands in them."""
CACHED_TOKEN = "planted-token-of-the-hub-cache-5e21"


@contextmanager
def planted_secrets(hub: Path) -> Iterator[None]:
    """Put secrets into the environment, and a token where the hub's login keeps it."""
    (hub / "token").write_text(CACHED_TOKEN)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        patch.setenv("HF_HOME", str(hub))
        yield


@pytest.fixture(scope="session")
def fresh(tmp_path_factory) -> Workspace:
    """A workspace in which nothing was run; don't change it, copy it."""
    return built_once(tmp_path_factory, "fresh", write_small_campaign)


@pytest.fixture(scope="session")
def finished(fresh, tmp_path_factory) -> Workspace:
    """A workspace with the small campaign measured and decided; don't change it, copy it.

    The environment that it was measured in holds secrets, which `test_secrets.py` looks for.
    """

    def measure(folder: Path) -> None:
        with planted_secrets(tmp_path_factory.mktemp("hub")):
            fresh.copy(folder).snakemake()

    return built_once(tmp_path_factory, "finished", measure)


@pytest.fixture
def secrets(tmp_path) -> Iterator[list[str]]:
    """Secrets in the environment, for a test that runs more stages; gives their values."""
    hub = tmp_path / "hub"
    hub.mkdir()
    with planted_secrets(hub):
        yield [*SECRETS.values(), CACHED_TOKEN]


@pytest.fixture
def workspace(fresh, tmp_path) -> Workspace:
    """A fresh workspace to change and run."""
    return fresh.copy(tmp_path / "work")


@pytest.fixture
def measured(finished, tmp_path) -> Workspace:
    """A copy of the finished campaign, to change and plan."""
    return finished.copy(tmp_path / "work")
