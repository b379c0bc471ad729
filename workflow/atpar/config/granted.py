"""Rounds that a campaign was extended by on its own, under the sealed rule `automatic`.

Light: read each time the Snakefile is parsed. `atpar.decision.extension` adds the lines.
"""

import json
from pathlib import Path

from atpar.errors import AtparError

FILE = "protocol/extensions.jsonl"


def granted_rounds(results: Path, sealed: int) -> int:
    """Return how many rounds beyond the `sealed` repetitions the last grant asks for.

    `results` is the campaign's folder. A grant names its repetition, since it may follow on rounds
    of `repetitions_added`. Raises AtparError for a file that was changed by hand.
    """
    path = results / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return 0
    last = sealed
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
            granted = int(event["repetition"]) if event["event"] == "extended" else 0
        except (ValueError, KeyError, TypeError):
            if number == len(lines):
                break  # torn while it was written: not granted
            raise AtparError(
                f"{path}, line {number}: not a JSON object with an event and its repetition; the "
                "file is only ever appended to: restore that line from a copy"
            ) from None
        last = max(last, granted)
    return last - sealed
