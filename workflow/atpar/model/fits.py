"""Can the sealed protocol be applied to this model's answers to this corpus? Asked before any pass.

What is refused here would otherwise show once all passes were paid for.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.canonical import read_json
from atpar.config.protocol import METRICS, metric_answers, metric_class
from atpar.errors import AtparError, did_you_mean
from atpar.model.heads import Head, head_of
from atpar.model.labels import MEANT, answered, used_labels


def check_protocol(reference: Path, fingerprint: Path, protocol: dict[str, Any]) -> None:
    """Refuse metrics, subgroups and deliverables that nothing could be judged by.

    `protocol` has metric, metrics, subgroups, deliverables and deliverable_column; `reference` is
    corpus/reference.parquet, `fingerprint` the model's. Raises AtparError for a metric that isn't
    defined for the model's answers, is of an unknown class, or of one that no entry has; for
    subgroups that are no column, or that mean nothing; for deliverables without an entry.
    """
    head = head_of(read_json(fingerprint), None)
    table = pq.read_table(reference)
    _check_metrics(protocol, head, table)
    for name in protocol["subgroups"]:
        if name not in table.column_names:
            raise AtparError(
                f"protocol.subgroups names {name!r}, which {reference} has no column for; "
                + did_you_mean(name, table.column_names)
            )
    if head.answer == "number" and "label" in protocol["subgroups"]:
        raise AtparError(
            "protocol.subgroups names 'label', but the answers are numbers: almost each would be a "
            "subgroup of its own; keep a column of ranges under corpus.columns.subgroups instead"
        )
    _check_deliverables(table, protocol)


def _check_metrics(protocol: dict[str, Any], head: Head, table: pa.Table) -> None:
    """Refuse metrics that can't be computed of this model's answers to this corpus."""
    main = protocol["metric"]
    used = used_labels(table, head) if answered(table) else None
    for name in dict.fromkeys([main, *protocol["metrics"]]):
        place = "protocol.metric" if name == main else "protocol.metrics"
        if head.answer not in metric_answers(name):
            fitting = [one for one in METRICS if head.answer in metric_answers(one)]
            raise AtparError(
                f"{place}: {name} isn't defined where an answer is {MEANT[head.answer]} (the "
                f"model's head is {head.kind}); take {', '.join(fitting)}, or one of your own"
            )
        label = metric_class(name)
        if label is not None and label not in head.labels:
            raise AtparError(
                f"{place}: {name} is of a label that the model doesn't have; "
                + did_you_mean(label, head.labels)
            )
        if label is not None and used is not None and name == main and label not in used:
            raise AtparError(
                f"{place}: {name} would be undefined for every pass, since no entry of the "
                f"evaluation corpus has the answer {label!r}; choose another metric, or a corpus "
                "that has such entries"
            )
    if used is None and main != "agreement":
        raise AtparError(
            f"protocol.metric is {main}, but the corpus has no reference answers "
            "(corpus.columns.label is null); take `agreement`, with the reference run"
        )


def _check_deliverables(table: pa.Table, protocol: dict[str, Any]) -> None:
    """Refuse deliverables without entries, and entries of none."""
    name = protocol["deliverable_column"]
    if name is None:
        return
    found = set(pc.unique(table[name]).to_pylist())
    for expected in protocol["deliverables"]:
        if expected not in found:
            raise AtparError(
                f"protocol.deliverables: no entry of the evaluation corpus has {expected!r} in the "
                f"column {name!r}; " + did_you_mean(expected, [one for one in found if one])
            )
    left = sorted(found - set(protocol["deliverables"]), key=str)
    if left:
        raise AtparError(
            f"the column {name!r} has the value {left[0]!r}, which is no expected deliverable; "
            "name each of them under protocol.deliverables"
        )
