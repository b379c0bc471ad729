"""Rounds that a campaign was extended by on its own, under the sealed rule `automatic`.

Light: read each time the Snakefile is parsed. `atpar.decision.extension` adds the lines.
"""

import json
from pathlib import Path

from atpar.errors import AtparError

FILE = "protocol/extensions.jsonl"


def granted_rounds(results: Path) -> int:
    """Return how many rounds were granted so far; `results` is the campaign's folder.

    Raises AtparError for a file that was changed by hand.
    """
    path = results / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return 0
    rounds = 0
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)["event"]
        except (ValueError, KeyError, TypeError):
            if number == len(lines):
                return rounds  # torn while it was written: not granted
            raise AtparError(
                f"{path}, line {number}: not a JSON object with an event; the file is only ever "
                "appended to: restore that line from a copy"
            ) from None
        rounds += event == "extended"
    return rounds
