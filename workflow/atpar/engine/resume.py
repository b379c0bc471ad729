"""Going on where another variant's attempt ended: the option `resume` [P18].

A variant that recovers another one may take over the entries that the latter completed in the same
repetition, however that attempt ended, and compute only the rest. Its main time holds the span of
that attempt too: it is the time of the whole way, as far as the predictions go.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from atpar.canonical import file_digest, read_json
from atpar.engine.corpus import Window
from atpar.engine.job import Inputs
from atpar.engine.refused import Refused
from atpar.engine.results import Scores

SAME_WORK = {
    "seal_digest": ("seal", "digest"),
    "evaluation_digest": ("corpus_fingerprint", "evaluation_digest"),
    "model_digest": ("fingerprint", "model_digest"),
    "tokenizer_digest": ("fingerprint", "tokenizer_digest"),
}
"""Field of a record -> the input, and the field there, that it must agree with."""


@dataclass(frozen=True)
class TakenOver:
    """What was taken over of an attempt."""

    attempt_id: str
    entries: int
    span_s: float
    """Seconds of its span, until its end if it didn't end well."""

    def note(self) -> str:
        """Return it as a note of the record."""
        return (
            f"{self.entries} entries and {self.span_s:.3f} s of the span are those of attempt "
            f"{self.attempt_id}, which this pass resumes"
        )


def take_over(inputs: Inputs, labels: list[str], scores: Scores) -> TakenOver:
    """Put the scores of the recovered variant's attempt among `scores`.

    Raises Refused if that attempt did other work, or its predictions aren't those that it wrote.
    """
    if inputs.resumed_record is None or inputs.resumed_predictions is None:
        raise Refused("`resume` needs a pass of the recovered variant, which there is none of here")
    record, predictions = read_json(inputs.resumed_record), Path(inputs.resumed_predictions)
    name = record["attempt_id"]
    for field, (source, key) in SAME_WORK.items():
        if record[field] != read_json(getattr(inputs, source))[key]:
            raise Refused(f"attempt {name} can't be resumed: it has another {field}")
    if record["predictions_digest"] != file_digest(predictions):
        raise Refused(f"attempt {name} can't be resumed: {predictions} isn't the file it wrote")
    entries = _put(predictions, Path(inputs.corpus), labels, scores)
    span_s = record["main_time_s"] if record["status"] == "ok" else record["span_s"]
    return TakenOver(name, entries, span_s or 0.0)


def _put(predictions: Path, corpus: Path, labels: list[str], scores: Scores) -> int:
    """Return how many entries have finite scores there; only those are taken over."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    ids = pq.read_table(corpus, columns=["id"]).column(0)
    entries = 0
    with pq.ParquetFile(predictions, pre_buffer=False) as file:
        for batch in file.iter_batches(columns=["id", "scores"]):
            places = pc.index_in(batch.column("id").cast(ids.type), value_set=ids)
            rows = places.to_numpy(zero_copy_only=False)
            values = batch.column("scores").flatten().to_numpy(zero_copy_only=False)
            values = values.reshape(len(rows), len(labels))
            finite = np.isfinite(values).all(axis=1)
            scores.put(rows[finite], values[finite])
            entries += int(np.count_nonzero(finite))
    return entries


def left(everything: Iterable[Window], done: np.ndarray) -> Iterator[Window]:
    """Yield of each window the entries whose flag in `done` isn't set."""
    for rows, texts in everything:
        places = np.flatnonzero(done[rows] == 0)
        if len(places):
            yield rows[places], [texts[place] for place in places]
