"""Is the protocol still the sealed one? Light: asked each time the Snakefile is parsed."""

from difflib import unified_diff
from pathlib import Path
from typing import Any

import yaml

from atpar.canonical import read_json
from atpar.errors import AtparError


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
