"""The seal: what [P1] fixes, as canonical text with its digest.

Sealed are the whole `protocol` section, the sampling of the evaluation corpus, and the
fingerprints of corpus and reference answers. Variants, offers, prices and the calendar may change
freely: they don't decide what counts as an accepted result.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.canonical import canonical_json, digest, read_json, write_json
from atpar.errors import AtparError

DEFINITION = 1


def sealed_content(protocol: dict[str, Any], corpus: dict[str, Any]) -> dict[str, Any]:
    """Return what the seal covers.

    `protocol` is the protocol section as plain values, `corpus` the content of
    `corpus/fingerprint.json`.
    """
    return {
        "protocol": protocol,
        "evaluation_digest": corpus["evaluation_digest"],
        "reference_digest": corpus["reference_digest"],
    }


def seal_protocol(
    protocol: dict[str, Any],
    fingerprint: Path,
    evaluation: Path,
    seal: Path,
    follows: str | None = None,
) -> None:
    """Write `seal` (`results/<campaign>/protocol/seal.json`) for this protocol and corpus.

    Other campaigns under `results/` that were sealed on the same evaluation corpus with another
    protocol are named in the seal. With `follows`, the campaign says that it asks an earlier
    question again: if its protocol differs, the same evaluation corpus is refused [P2], and the
    entries that the two corpora share (by id or by text) are counted in the seal.
    """
    corpus = read_json(fingerprint)
    content = sealed_content(protocol, corpus)
    elsewhere = _other_protocols_on(corpus["evaluation_digest"], protocol, seal)
    if follows in elsewhere:
        raise AtparError(
            f"this campaign follows {follows!r} with a changed protocol ({elsewhere[follows]}), "
            "but its evaluation corpus is the same. A changed threshold needs a new, independent "
            "one: draw another sample (corpus.sample.seed, with the earlier entries marked "
            "`tuning`) or bring other files"
        )
    write_json(
        seal,
        {
            "definition": DEFINITION,
            "digest": digest(content),
            "canonical": canonical_json(content),
            "sealed": content,
            "sealed_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
            "other_protocols_on_this_corpus": elsewhere,
            "overlap": _overlap(evaluation, seal.parents[2], follows) if follows else None,
        },
    )


def _overlap(evaluation: Path, results: Path, follows: str) -> dict[str, Any] | None:
    """Return how many entries the earlier campaign evaluated too; None if its corpus isn't here."""
    earlier = results / follows / "corpus" / evaluation.name
    if not earlier.exists():
        return None
    tables = [pq.read_table(path, columns=["id", "text"]) for path in (evaluation, earlier)]
    shared = [pc.is_in(tables[0][name], value_set=tables[1][name]) for name in ("id", "text")]
    return {
        "campaign": follows,
        "entries": pc.sum(pc.or_(*shared)).as_py() or 0,
        "of": tables[0].num_rows,
    }


def _other_protocols_on(
    evaluation_digest: str, protocol: dict[str, Any], seal: Path
) -> dict[str, str]:
    """Return campaign -> options that differ, for other campaigns sealed on the same corpus."""
    found = {}
    for other in sorted(seal.parents[2].glob(f"*/protocol/{seal.name}")):
        content = read_json(other)["sealed"]
        if other == seal or content["evaluation_digest"] != evaluation_digest:
            continue
        differing = sorted(
            key
            for key in protocol.keys() | content["protocol"].keys()
            if protocol.get(key) != content["protocol"].get(key)
        )
        if differing:
            found[other.parents[1].name] = ", ".join(differing)
    return found
