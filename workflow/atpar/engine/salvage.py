"""What is left of an attempt that didn't end by itself, as a predictions table.

Apart from the supervisor, which imports it when there is something to salvage: NumPy and what reads
scores stay out of the start of every pass that ends as it should.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atpar.canonical import file_digest
from atpar.engine.corpus import count_entries
from atpar.engine.job import Inputs
from atpar.engine.results import salvage_predictions, write_predictions
from atpar.journal.attempts import read_progress, stopped_since
from atpar.model.heads import read_head


def salvaged(folder: Path, inputs: Inputs, protocol: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what a killed worker left into a predictions table and return the fields it gives.

    Scores are in the kernel's hands until it writes them, in an order of its own: after the machine
    itself stopped, an entry can be marked as done whose scores never reached the disk. So what
    was left before the machine was started anew is no prediction.
    """
    kept = folder / "predictions.parquet"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if stopped_since(read_progress(folder)):
            write_none(kept, inputs, protocol)
        else:
            head = read_head(Path(inputs.labels), dict(protocol))
            salvage_predictions(folder, kept, Path(inputs.corpus), head)
    return {
        "predictions_path": str(kept),
        "predictions_digest": file_digest(kept),
        "entries_completed": count_entries(kept),
    }


def write_none(path: Path, inputs: Inputs, protocol: Mapping[str, Any]) -> None:
    """Write a predictions table without rows."""
    head = read_head(Path(inputs.labels), dict(protocol))
    write_predictions(path, Path(inputs.corpus), head, None)
