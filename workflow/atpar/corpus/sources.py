"""Which files the configuration's `corpus.files` stand for, and how each is written.

Light on purpose: this runs every time the Snakefile is parsed.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from atpar.errors import AtparError, did_you_mean

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
}
COMPRESSIONS = (".gz", ".zst")
EXAMPLE_CORPUS = "resources/example/corpus.parquet"
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class SourceFile:
    """One file of the corpus."""

    path: str
    format: str
    """parquet, csv, tsv, jsonl or arrow."""
    compressed: bool = False
    partition: dict[str, str | None] = field(default_factory=dict)
    """Columns that the folders' names give (`split=train/...`), the same for all of its rows."""


def corpus_files(entries: list[str], option: str = "corpus.files") -> list[str]:
    """Return the paths of all files that an option names, folders opened up, in order.

    Raises AtparError for a file that isn't there, unless it is the example's, which a rule makes.
    """
    paths = [source.path for source in source_files(entries, option)]
    for path in map(Path, paths):
        if str(path) != EXAMPLE_CORPUS and not path.exists():
            beside = [one.name for one in path.parent.glob("*")] if path.parent.is_dir() else []
            hint = "; " + did_you_mean(path.name, beside) if beside else ""
            raise AtparError(
                f"{path}: no such file; {option} names it, relative to the working directory{hint}"
            )
    return paths


def source_files(entries: list[str], option: str = "corpus.files") -> list[SourceFile]:
    """Return the files that an option names; a folder stands for the data files in it.

    A folder is a Hugging Face `save_to_disk` folder (state.json gives the files and their order)
    or a folder of Parquet files, Hive partitions included, in the order of their paths. A file
    that isn't there is kept: a rule may make it.
    """
    found = []
    for entry in entries:
        path = Path(entry)
        found += _in_folder(path) if path.is_dir() else [_one_file(path)]
    paths = [source.path for source in found]
    for path in paths:
        if paths.count(path) > 1:
            raise AtparError(f"{option} names {path} twice")
    return found


def _one_file(path: Path, partition: dict[str, str | None] | None = None) -> SourceFile:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    kind = FORMATS.get(suffixes[-2 if compressed else -1]) if len(suffixes) > compressed else None
    if kind is None or (compressed and kind in ("parquet", "arrow")):
        raise AtparError(
            f"{path}: can't tell from its name how it is written; known are "
            f"{', '.join(sorted(FORMATS))}, and CSV, TSV and JSONL also with .gz or .zst"
        )
    return SourceFile(str(path), kind, compressed, partition or {})


def _in_folder(folder: Path) -> list[SourceFile]:
    if (folder / "dataset_dict.json").is_file():
        splits = sorted(path.name for path in folder.iterdir() if path.is_dir())
        raise AtparError(
            f"{folder} holds several data sets; name one of them: "
            + ", ".join(str(folder / split) for split in splits)
        )
    state = folder / "state.json"
    if state.is_file():
        return [SourceFile(str(folder / name), "arrow") for name in _saved_files(state)]
    files = sorted(folder.rglob("*.parquet"))
    hidden = [path for path in files if any(p[0] in "._" for p in path.relative_to(folder).parts)]
    files = [path for path in files if path not in hidden]
    if not files:
        raise AtparError(
            f"{folder}: neither a folder of Parquet files nor one that `save_to_disk` wrote"
        )
    return [_one_file(path, _partition(path.relative_to(folder))) for path in files]


def _saved_files(state: Path) -> list[str]:
    try:
        content: Any = json.loads(state.read_text(encoding="utf-8"))
        names = [str(one["filename"]) for one in content["_data_files"]]
    except (ValueError, KeyError, TypeError):
        raise AtparError(
            f"{state}: not as `save_to_disk` writes it; save the data set again"
        ) from None
    if content.get("_indices_data_files"):
        raise AtparError(
            f"{state}: rows are chosen by an indices file; call `flatten_indices` and save again"
        )
    for name in names:
        if Path(name).name != name:
            raise AtparError(f"{state}: names a file outside its folder: {name!r}")
    return names


def _partition(relative: Path) -> dict[str, str | None]:
    """Return the columns that Hive-style folder names give."""
    pairs = [part.split("=", 1) for part in relative.parts[:-1] if "=" in part]
    return {unquote(name): None if value == HIVE_NULL else unquote(value) for name, value in pairs}
