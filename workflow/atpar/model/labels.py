"""Do the corpus' reference labels and the model's labels speak of the same classes?"""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.canonical import read_json, write_json
from atpar.errors import AtparError, did_you_mean

DEFINITION = 1


def check_labels(reference: Path, fingerprint: Path, labels: Path) -> dict[str, Any]:
    """Write which of the model's labels the reference uses.

    `reference` is corpus/reference.parquet (the label map applied), `fingerprint` the model's.
    Raises AtparError for a reference label that the model can't predict, with an id that has it.
    """
    known = read_json(fingerprint)["labels"]
    table = pq.read_table(reference, columns=["id", "label"])
    used = pc.unique(table["label"].drop_null()).to_pylist()
    unknown = sorted(set(used) - set(known))
    if unknown:
        raise AtparError(_explain(unknown, used, known, table))
    content = {
        "definition": DEFINITION,
        "labels": known,
        "reference_labels": sorted(used),
        "unused_labels": [name for name in known if name not in used],
    }
    write_json(labels, content)
    return content


def _explain(unknown: list[str], used: list[str], known: list[str], table: pa.Table) -> str:
    place = pc.index(table["label"], unknown[0]).as_py()
    example = table["id"][place].as_py()
    text = (
        f"corpus: label {unknown[0]!r} (id {example!r}) is none of the model's labels; "
        + did_you_mean(unknown[0], known)
    )
    if len(unknown) > 1:
        text += f" {len(unknown) - 1} more are unknown: {', '.join(map(repr, unknown[1:6]))}"
    if all(re.fullmatch(r"LABEL_\d+", name) for name in known):
        return text + (
            ". The model's labels have no names of their own; give them in index order under "
            "model.labels"
        )
    if not set(used) & set(known):
        text += ". No label is known to both: is this the model for this corpus?"
    return text + ". Where they are only spelt differently, map them with corpus.label_map"
