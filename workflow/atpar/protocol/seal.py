"""The seal: what [P1] fixes, as canonical text with its digest.

Sealed are the whole `protocol` section, the sampling of the evaluation corpus, and the
fingerprints of corpus and reference answers. Variants, offers, prices and the calendar may change
freely: they don't decide what counts as an accepted result.
"""

from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any

import yaml

from atpar.canonical import digest, read_json, write_json
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


def seal_protocol(protocol: dict[str, Any], fingerprint: Path, seal: Path) -> None:
    """Write `seal` for this protocol and this corpus fingerprint."""
    content = sealed_content(protocol, read_json(fingerprint))
    write_json(
        seal,
        {
            "definition": DEFINITION,
            "digest": digest(content),
            "sealed": content,
            "sealed_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def check_seal(protocol: dict[str, Any], seal: Path, measured: bool) -> None:
    """Refuse a protocol that differs from the sealed one once a pass was measured [P2].

    `measured` says whether the campaign's journal holds any attempt. Before the first one the
    protocol may still change: the seal is simply written anew.
    """
    if not measured or not seal.exists():
        return
    sealed = read_json(seal)["sealed"]["protocol"]
    if sealed == protocol:
        return
    before, after = (
        yaml.safe_dump(part, sort_keys=True, allow_unicode=True).splitlines()
        for part in (sealed, protocol)
    )
    changes = "\n".join(
        "    " + line
        for line in unified_diff(before, after, "sealed", "configuration", lineterm="", n=0)
        if not line.startswith("@@")
    )
    raise AtparError(
        f"the protocol was sealed before the first pass ({seal}) and has changed since:\n"
        f"{changes}\n"
        "  Either restore the sealed values, or open a new campaign (another name under "
        "`campaign`) with an evaluation corpus that wasn't used here."
    )
