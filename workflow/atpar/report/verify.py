"""Check an evidence bag: every checksum, and that its decision follows from its attempts [P36]."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from atpar.canonical import digest, file_digest, read_json
from atpar.decision.attempts import read_journals
from atpar.errors import AtparError
from atpar.protocol.software import versions
from atpar.report.bag import PAYLOAD, bag_problems, unpack_bag
from atpar.report.rebuild import Bag, rebuild

IDENTITY = ("seal_digest", "evaluation_digest", "model_digest", "tokenizer_digest")
"""Digests that each pass names and that must be those of the bag's own files."""


@dataclass(frozen=True)
class Verification:
    """What a check of a bag found; it holds when there are no problems."""

    bag: str
    problems: list[str] = field(default_factory=list)
    rebuilt: dict[str, list[str]] = field(default_factory=dict)
    """File -> where it differs from what the attempts give; empty lists for equal files."""
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Is every checksum right and every table equal to what the attempts give?"""
        return not self.problems and bool(self.rebuilt) and not any(self.rebuilt.values())


def verify_bag(path: Path) -> Verification:
    """Check the bag at `path`, a zip file or an unpacked folder.

    AtparError for a file that can't be a bag at all; faults inside it are returned. Nothing is
    rebuilt when a checksum is wrong: the files aren't those that were packed.
    """
    with TemporaryDirectory(prefix="atpar-verify-") as scratch:
        work = Path(scratch, "rebuilt")
        work.mkdir()
        folder = path if path.is_dir() else unpack_bag(path, Path(scratch))
        problems = bag_problems(folder)
        if problems:
            return Verification(path.name, problems)
        data = folder / PAYLOAD
        manifest = _manifest(data)
        return Verification(
            path.name,
            _readable_problems(data, manifest),
            rebuild(Bag(data, work, manifest)),
            _notes(manifest),
        )


def _manifest(data: Path) -> dict[str, Any]:
    try:
        manifest = read_json(data / "manifest.json")
    except FileNotFoundError:
        raise AtparError(
            "a whole bag, but it has no manifest.json: it isn't an evidence bag of atpar"
        ) from None
    except ValueError as error:
        raise AtparError(f"manifest.json in the bag isn't JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("definition") != 1:
        raise AtparError("manifest.json in the bag isn't of definition 1; use a newer atpar")
    return manifest


def _readable_problems(data: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return the problems of identity, or the one that the evidence can't be read for them."""
    try:
        return identity_problems(data, manifest)
    except (AtparError, OSError, LookupError, TypeError, AttributeError, ValueError) as error:
        # The bag isn't trusted: a file that is missing or of another form is its fault to name.
        return [f"seal, journals or passes can't be read ({type(error).__name__}: {error})"]


def identity_problems(data: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Return where seal, attempts, predictions and inputs aren't those that the bag names."""
    problems = []
    seal = read_json(data / "protocol/seal.json")
    if digest(seal["sealed"]) != seal["digest"]:
        problems.append("protocol/seal.json: the sealed content doesn't have the seal's digest")
    if seal["digest"] != manifest["seal_digest"]:
        problems.append("protocol/seal.json: not the seal that manifest.json names")
    told = {record["attempt_id"]: record for record in read_journals(data / "journal")}
    for path in sorted(data.glob("passes/*/*/*.json")):
        record = read_json(path)
        name = path.relative_to(data).as_posix()
        if told.get(record["attempt_id"]) != record:
            problems.append(f"{name}: not as the journal tells of {record['attempt_id']}")
        problems += [
            f"{name}: its {one} isn't the bag's"
            for one in IDENTITY
            if record.get(one) != manifest[one]
        ]
        problems += _prediction_problems(data, record, path)
    return problems


def _prediction_problems(data: Path, record: Mapping[str, Any], path: Path) -> list[str]:
    """Return whether a pass's predictions are missing, or not the file that it wrote."""
    place = path.relative_to(data / "passes").with_suffix(".parquet")
    predictions = data / "predictions" / place
    if not predictions.exists():
        return [f"predictions/{place}: missing in the bag"]
    wanted = record.get("predictions_digest")
    if wanted is not None and file_digest(predictions) != wanted:
        return [f"predictions/{place}: not the file that {record['attempt_id']} wrote"]
    return []


def _notes(manifest: Mapping[str, Any]) -> list[str]:
    """Return how the software here differs from that with which the tables were computed."""
    packed = manifest.get("software") or {}
    here = versions(packed)
    return [
        f"computed here with {name} {here[name] or 'not installed'}, there with {version}"
        for name, version in sorted(packed.items())
        if here[name] != version
    ]
