"""Pack what the decision rests on into one file that can be shared and checked [P36]."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from atpar import __version__
from atpar.canonical import file_digest, read_json
from atpar.errors import AtparError
from atpar.report.bag import write_bag

DEFINITION = 1

TEXTS = ("corpus/evaluation.parquet", "corpus/reference.parquet")
"""Files that hold texts and reference answers; packed only when asked for."""


def pack_evidence(
    folder: Path,
    files: Sequence[Path],
    inputs: Mapping[str, Sequence[Path]],
    output: Path,
    campaign: str,
    steps: Mapping[str, Any],
    configuration: Mapping[str, Any],
    software: Mapping[str, str | None],
    texts: bool,
) -> None:
    """Write the evidence bag of the campaign in `folder`.

    `files` lie in `folder` and keep their place; the journals there are added. `inputs` are the
    tables that a person wrote, by their role. `steps` are the settings with which the tables were
    computed, so that `atpar verify` computes them again. With `texts`, corpus and reference
    answers go along; otherwise ids with the SHA-256 of their text.
    """
    packed: dict[str, Path | bytes] = {}
    for path in [*files, *sorted(folder.glob("journal/*.jsonl"))]:
        packed[path.relative_to(folder).as_posix()] = path
    if not any(path.startswith("journal/") for path in packed):
        raise AtparError(
            f"{folder / 'journal'}: no journal there, so there is nothing to prove; bring the "
            "journals along with the passes"
        )
    packed |= _corpus(folder, texts)
    roles = {}
    for role, paths in inputs.items():
        roles[role] = []
        for place, path in enumerate(paths):
            inside = f"inputs/{role}/{place}-{path.name}"
            packed[inside] = path
            roles[role].append({"path": inside, "sha256": file_digest(path)})
    manifest = {
        "definition": DEFINITION,
        "campaign": campaign,
        "atpar": __version__,
        "texts_included": texts,
        **digests(folder),
        "inputs": roles,
        "steps": steps,
        "configuration": configuration,
        "software": software,
    }
    packed["manifest.json"] = _json(manifest)
    write_bag(output, f"{campaign}-evidence", packed, _about(campaign, folder))


def _corpus(folder: Path, texts: bool) -> dict[str, Path | bytes]:
    """Return what of the corpus is packed: the texts, their hashes, or nothing where there are
    no texts because the passes were carried in from other machines.
    """
    present = (folder / TEXTS[0]).exists()
    if texts and not present:
        raise AtparError(
            f"{folder / TEXTS[0]}: missing, so the texts can't be packed; set `evidence: hashes`, "
            "or pack the bag on a machine that has the corpus"
        )
    if texts:
        return {path: folder / path for path in TEXTS}
    return {"corpus/entries.csv": entry_hashes(folder / TEXTS[0])} if present else {}


def digests(folder: Path) -> dict[str, Any]:
    """Return the input hashes: corpus with its sources, model with its files, protocol."""
    corpus = read_json(folder / "corpus/fingerprint.json")
    model = read_json(folder / "model/fingerprint.json")
    seal = read_json(folder / "protocol/seal.json")
    names = ("corpus_digest", "evaluation_digest", "reference_digest", "source_digest")
    return {
        "seal_digest": seal["digest"],
        **{name: corpus.get(name) for name in names},
        "sources": corpus.get("sources"),
        "model_digest": model["model_digest"],
        "tokenizer_digest": model.get("tokenizer_digest"),
        "model_files": model.get("files"),
    }


def entry_hashes(evaluation: Path) -> bytes:
    """Return a CSV of id and SHA-256 of the text's UTF-8 bytes, in order of passage."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "text_sha256"])
    for batch in pq.ParquetFile(evaluation, pre_buffer=False).iter_batches(columns=["id", "text"]):
        for row in batch.to_pylist():
            digest = hashlib.sha256(row["text"].encode("utf-8")).hexdigest()
            writer.writerow([row["id"], digest])
    return text.getvalue().encode("utf-8")


def _about(campaign: str, folder: Path) -> dict[str, str]:
    """Return bag-info.txt; its date is that of the last attempt, for the same bag every time."""
    with (folder / "attempts.csv").open(encoding="utf-8", newline="") as stream:
        ends = [row["finished_utc"] or row["started_utc"] for row in csv.DictReader(stream)]
    sealed = read_json(folder / "protocol/seal.json")["sealed_at_utc"]
    return {
        "External-Identifier": campaign,
        "External-Description": "Evidence of an atpar campaign; check it with `atpar verify`.",
        "Bagging-Date": max([end for end in ends if end], default=sealed)[:10],
        "Bag-Software-Agent": f"atpar {__version__}, bagit.py",
    }


def _json(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()
