"""Extension `automatic`: one more round for all variants while the leading options are tied.

The stages are planned when the Snakefile is parsed, so a round can't be added to a run under way.
It is granted at the end of a run that decided, in an append-only file that the next parse reads;
Snakemake then starts over with the same arguments and finds the new round's passes to be measured,
and no earlier one; a command that forces passes to be measured again isn't repeated.
"""

import os
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atpar.canonical import file_digest, read_json
from atpar.config.granted import FILE
from atpar.journal import journal
from atpar.rows import read_rows


def may_extend(protocol: dict[str, Any], repetitions: int) -> bool:
    """Return whether the sealed rule lets a tied series of so many repetitions grow by itself."""
    rule = protocol["extension"]
    return rule["mode"] == "automatic" and repetitions < rule["limit"]


def grant(results: Path, here: Collection[str], repetitions: int) -> str | None:
    """Grant one more round if the decision in `results` asks for it; return a message, or None.

    `here` are the offers of this machine, `repetitions` the planned ones. Nothing is granted for a
    decision made of another number of repetitions, for a series whose A/A control was told apart
    (more passes of it mean nothing), where an option is measured elsewhere (its machine must get
    the same round), and beyond the sealed limit.
    """
    files = [results / name for name in ("decision.json", "summary.csv", "separation.json")]
    seal = results / "protocol" / "seal.json"
    if not all(path.exists() for path in (*files, seal)):
        return None
    protocol = read_json(seal)["sealed"]["protocol"]
    decision, summary, findings = read_json(files[0]), read_rows(files[1]), read_json(files[2])
    if decision["outcome"] != "tied" or not may_extend(protocol, repetitions):
        return None
    planned = {int(row["planned_passes"]) for row in summary}
    control = findings["control"]
    if planned != {repetitions} or (control and control["flagged"]):
        return None
    if not {row["offer"] for row in summary} <= set(here):
        return None
    tied = [f"{one['variant']} on {one['offer']}" for one in decision["leading"]]
    journal.append(
        results / FILE,
        {
            "event": "extended",
            "repetition": repetitions + 1,
            "tied": tied,
            "decision_digest": file_digest(files[0]),
            "seal_digest": decision["seal_digest"],
            "granted_at_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )
    return (
        f"{' and '.join(tied)} aren't told apart after {repetitions} repetitions: one more round "
        f"for all variants, as the sealed rule says (up to {protocol['extension']['limit']})"
    )


def repeatable(settings: Any) -> bool:
    """Return whether the command measures only what is missing, and may therefore run again.

    `settings` are Snakemake's DAG settings. What a command forces is forced each time it runs.
    """
    return not (settings.forcerun or settings.forceall or settings.forcetargets)


def start_over() -> None:
    """Run this very command again in this process's place, once it is over."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, sys.orig_argv)


def is_command() -> bool:
    """Return whether this process is the command `snakemake`, and no program that calls it."""
    return any(Path(part).name == "snakemake" for part in sys.orig_argv[1:4])
