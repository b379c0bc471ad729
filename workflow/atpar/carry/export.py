"""Pack a node's share while it may still be measuring."""

import json
from collections.abc import Sequence
from pathlib import Path

from atpar.canonical import digest, file_digest
from atpar.carry.archive import write_archive
from atpar.carry.layout import IDENTITY, NEEDED, SCRATCH, place_of
from atpar.errors import AtparError

Files = dict[str, Path | bytes]


def export_share(results: Path, campaign: str, offers: Sequence[str], output: Path) -> None:
    """Pack what was measured of `offers` under `results` (`results/<campaign>`) into `output`.

    A consistent snapshot: records are read first, then the journal up to its last whole line,
    then the folders of the attempts that it tells of. A record is written after its journal line,
    so every record here has its line; an attempt that runs just now is there with its start.
    """
    if not offers:
        raise AtparError("this machine measures no offer (`here: none`): nothing to share")
    share(results, campaign, dict.fromkeys(offers), output)


def export_pass(
    results: Path, campaign: str, offer: str, variant: str, repetition: int, output: Path
) -> None:
    """Pack one pass with all its attempts: a share of the smallest size."""
    share(results, campaign, {offer: f"{variant}/{repetition}"}, output)


def share(results: Path, campaign: str, parts: dict[str, str | None], output: Path) -> None:
    """Pack a share; `parts` maps an offer to the one pass wanted of it, None for all."""
    files: Files = {}
    twins: dict[str, str] = {}
    for offer, only in parts.items():
        _add_offer(results, offer, only, files, twins)
    if not any(place_of(path).kind == "journal" for path in files):
        raise AtparError(
            f"nothing was measured of {', '.join(parts)} in {results}: run `snakemake passes` first"
        )
    _add_identity(results, files)
    write_archive(output, campaign, list(parts), files, twins)


def state(results: Path, offers: Sequence[str]) -> str:
    """Return a digest that changes when a share of `offers` would hold something else."""
    patterns = ["journal/{}.jsonl", "offers/{}/*.json", "checks/{}/*.json", "quality/{}/*.json"]
    found = sorted(
        path for offer in offers for one in patterns for path in results.glob(one.format(offer))
    )
    seen = [
        (path, path.stat())
        for path in [*found, *(results / name for name in NEEDED)]
        if path.exists()
    ]
    return digest([(path.as_posix(), now.st_size, now.st_mtime_ns) for path, now in seen])[:16]


def _add_identity(results: Path, files: Files) -> None:
    for path in IDENTITY:
        if (results / path).exists():
            files[path] = (results / path).read_bytes()
        elif path in NEEDED:
            raise AtparError(
                f"{results / path}: missing, so nobody could tell what was measured; run "
                "`snakemake seal` first"
            )


def _add_offer(
    results: Path, offer: str, only: str | None, files: Files, twins: dict[str, str]
) -> None:
    wanted = f"{only}.json" if only else "*/*.json"
    records = _read_all(results, f"passes/{offer}/{wanted}")
    lines = _journal_lines(results / "journal" / f"{offer}.jsonl", offer, only)
    if not lines:
        return
    files[f"journal/{offer}.jsonl"] = b"".join(line for line, _ in lines)
    for name in dict.fromkeys(name for _, name in lines if name):
        _, variant, repetition, number = name.split("/")
        _add_attempt(results, f"attempts/{offer}/{variant}/{repetition}-{number}", files)
    for path, content in records.items():
        _add_record(results, path, content, files, twins)
    environments = _read_all(results, f"offers/{offer}/environment*.json")
    files.update({path: text for path, text in environments.items() if place_of(path)})
    if only is None:
        for kind in ("checks", "quality"):
            files.update(_read_all(results, f"{kind}/{offer}/*.json"))


def _read_all(results: Path, pattern: str) -> dict[str, bytes]:
    """Return path -> bytes; a file that Snakemake removes just now is left out."""
    found = {}
    for path in sorted(results.glob(pattern)):
        try:
            found[path.relative_to(results).as_posix()] = path.read_bytes()
        except FileNotFoundError:
            continue
    return found


def _journal_lines(path: Path, offer: str, only: str | None) -> list[tuple[bytes, str]]:
    """Return (line, attempt or "") up to the last whole line; those of one pass if `only`."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        if not line.endswith(b"\n"):
            break
        name = _attempt_of(line)
        if only is None or name.startswith(f"{offer}/{only}/"):
            found.append((line, name))
    return found


def _attempt_of(line: bytes) -> str:
    try:
        event = json.loads(line)
    except ValueError:
        return ""
    return event.get("attempt_id", "") if isinstance(event, dict) else ""


def _add_attempt(results: Path, folder: str, files: Files) -> None:
    for path in sorted((results / folder).glob("*")):
        name = f"{folder}/{path.name}"
        if path.name not in SCRATCH and path.is_file() and place_of(name):
            # Small files may be replaced or grow meanwhile; predictions are written whole, once.
            files[name] = path if path.suffix == ".parquet" else path.read_bytes()


def _add_record(
    results: Path, path: str, content: bytes, files: Files, twins: dict[str, str]
) -> None:
    """Add a record with its predictions, from its attempt's folder if that holds the same."""
    record = json.loads(content)
    files[path] = content
    place = place_of(path)
    predictions = f"predictions/{place.option_pass}.parquet"
    kept = (
        f"attempts/{place.offer}/{place.variant}/{place.repetition}-{record['attempt_number']}"
        "/predictions.parquet"
    )
    if kept in files and file_digest(results / kept) == record["predictions_digest"]:
        twins[predictions] = kept
    elif (results / predictions).exists():
        files[predictions] = (results / predictions).read_bytes()
