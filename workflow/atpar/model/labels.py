"""Do the corpus' reference answers and the model's speak of the same?"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.canonical import read_json, write_json
from atpar.corpus.answers import answer_codes, label_sets
from atpar.errors import AtparError, did_you_mean
from atpar.model.heads import Head, head_of

DEFINITION = 1
MEANT = {"single": "one label", "multiple": "several labels", "number": "a number"}
SHOWN = 8
"""Labels of either side that a message names."""


def check_labels(
    reference: Path, fingerprint: Path, labels: Path, label_kind: str = "single"
) -> dict[str, Any]:
    """Write the model's labels and head, and which of the labels the reference uses.

    `reference` is corpus/reference.parquet (the label map applied), `fingerprint` the model's,
    `label_kind` what the configuration says that an answer is. Raises AtparError for answers of
    another kind than the model's, and for one that the model can't give, with an id that has it.
    """
    head = head_of(read_json(fingerprint), None)
    table = pq.read_table(reference, columns=["id", "label"])
    used: set[str] = set()
    if answered(table):
        _check_kinds(head, label_kind)
        used = used_labels(table, head)
    content = {
        "definition": DEFINITION,
        "labels": list(head.labels),
        "head": head.kind,
        "reference_labels": sorted(used),
        "unused_labels": [name for name in head.labels if name not in used],
    }
    write_json(labels, content)
    return content


def answered(table: pa.Table) -> bool:
    """Return whether the reference table has any answer."""
    return table["label"].null_count < table.num_rows


def _check_kinds(head: Head, kind: str) -> None:
    if head.answer != kind:
        raise AtparError(
            f"the model's head is {head.kind}, so an answer is {MEANT[head.answer]}, but the "
            f"corpus' answers are {MEANT[kind]} each (corpus.columns.label_kind is {kind!r}); set "
            f"it to {head.answer!r} if the corpus has such answers, or model.head to what the "
            "model was trained for"
        )


def used_labels(table: pa.Table, head: Head) -> set[str]:
    """Return the labels that the reference answers use; refuse an answer that isn't known."""
    labels = list(head.labels)
    codes, known = answer_codes(table["label"].combine_chunks(), labels, head.answer)
    absent = table["label"].is_null().to_numpy()
    if absent.any():
        place = int(absent.argmax())
        raise AtparError(
            f"corpus: id {table['id'][place].as_py()!r} has no reference answer, though others "
            "have one; give each entry its answer, or set corpus.columns.label: null"
        )
    if not known.all():
        raise AtparError(_explain(table, known, head))
    if head.answer == "number":
        return set()
    if head.answer == "multiple":
        return {name for name, flags in zip(labels, codes.T, strict=True) if flags.any()}
    return {labels[code] for code in set(codes.tolist())}


def _explain(table: pa.Table, known: np.ndarray, head: Head) -> str:
    """Return what is wrong with the first answer that isn't known, and with how many more."""
    labels = list(head.labels)
    place = int((~known).argmax())
    own = _named(table["label"][place].as_py(), head)
    used = {one for text in pc.unique(table["label"]).to_pylist() for one in _named(text, head)}
    first = next(one for one in own if one not in labels)
    others = sorted(used - set(labels) - {first})
    hint = did_you_mean(first, labels)
    near = f"; {hint}" if hint.startswith("did you mean") else "."
    said = [
        f"corpus: label {first!r} (id {table['id'][place].as_py()!r}) is none of the model's "
        f"labels, which are {_few(labels)}{near}",
        f"The corpus has {_few(sorted(used))}.",
    ]
    if others:
        said.append(f"{len(others)} more are unknown: {', '.join(map(repr, others[:5]))}.")
    if all(re.fullmatch(r"LABEL_\d+", name) for name in labels):
        said.append(
            "The model's labels have no names of their own; give them in index order under "
            "model.labels"
        )
        return " ".join(said)
    if not used & set(labels):
        said.append("No label is known to both: is this the model for this corpus?")
    said.append("Where they are only spelt differently, map them with corpus.label_map")
    return " ".join(said)


def _few(labels: list[str]) -> str:
    """Return the first labels in quotes, and how many more there are."""
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return ", ".join(map(repr, labels[:SHOWN])) + more


def _named(answer: str, head: Head) -> list[str]:
    """Return the labels that one answer names."""
    return label_sets([answer])[0] if head.answer == "multiple" else [answer]
