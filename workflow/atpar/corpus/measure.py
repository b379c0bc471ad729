"""What the split decides by: tokens, label and mark of each entry, read in one stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.corpus.answers import label_sets, set_text
from atpar.corpus.columns import TEXT
from atpar.corpus.tokens import TokenCounter
from atpar.errors import AtparError, did_you_mean

BATCH_ROWS = 50_000
SHOWN = 5
"""Entries named in a message."""


@dataclass(frozen=True)
class Measured:
    """One element an entry, in source order."""

    tokens: np.ndarray
    """Tokens, special ones included, untruncated (int32)."""
    class_of: np.ndarray
    """Index into `classes` (all 0 without labels, and where they are numbers)."""
    classes: list[str]
    """Labels after the label map, sorted; one unnamed class without labels, and for numbers."""
    label_kind: str
    """`single`, `multiple` (a class is a set of labels, as JSON) or `number`."""
    eligible: np.ndarray
    """Not marked as tuning."""
    marked: bool
    """The source has a split column."""
    without_tokens: int
    """Texts that give the model nothing but special tokens."""
    with_pad_token: int
    """Texts that hold the padding token as text."""


def measure(
    source: Path,
    counter: TokenCounter,
    settings: Mapping[str, Any],
    label_map: Mapping[str, str],
    empty_text: str,
    label_kind: str = "single",
) -> Measured:
    """Read corpus/source.parquet once and return what the split decides by.

    `settings` are the tokenizer's. Raises AtparError for a text of no tokens at all, for one
    without own tokens unless `empty_text` is `accept`, and for an unused key of the label map.
    """
    tokens, labels, eligible = [], [], []
    without = padded = 0
    with pq.ParquetFile(source, pre_buffer=False) as file:
        names = [
            name for name in ("id", "text", "label", "split") if name in file.schema_arrow.names
        ]
        for batch in file.iter_batches(BATCH_ROWS, columns=names):
            text = batch.column("text")
            counts = counter.count(text)
            tokens.append(counts)
            without += _check_tokens(counts, batch.column("id"), counter.special, empty_text)
            if settings.get("pad_token"):
                found = pc.match_substring(text, settings["pad_token"])
                padded += pc.sum(found).as_py() or 0
            if "label" in names and label_kind != "number":
                labels.append(batch.column("label").cast(TEXT))
            if "split" in names:
                marked = pc.not_equal(batch.column("split"), "tuning")
                eligible.append(marked.to_numpy(zero_copy_only=False))
    all_tokens = np.concatenate(tokens)
    class_of, classes = _classes(labels, label_map, len(all_tokens), label_kind)
    return Measured(
        tokens=all_tokens,
        class_of=class_of,
        classes=classes,
        label_kind=label_kind,
        eligible=np.concatenate(eligible) if eligible else np.ones(len(all_tokens), bool),
        marked="split" in names,
        without_tokens=without,
        with_pad_token=padded,
    )


def map_labels(labels: pa.Array, label_map: Mapping[str, str]) -> pa.Array:
    """Return labels with the map applied; those it doesn't name stay."""
    if not label_map:
        return labels
    place = pc.index_in(labels, pa.array(list(label_map), TEXT))
    return pc.coalesce(pa.array(list(label_map.values()), TEXT).take(place), labels)


def _classes(
    labels: Sequence[pa.Array], label_map: Mapping[str, str], entries: int, label_kind: str
) -> tuple[np.ndarray, list[str]]:
    if not labels:
        return np.zeros(entries, np.int64), [""]
    encoded = pa.chunked_array(labels).combine_chunks().dictionary_encode()
    found = encoded.dictionary.to_pylist()
    sets = label_sets(found) if label_kind == "multiple" else [[name] for name in found]
    known = {name for one in sets for name in one}
    for name in label_map:
        if name not in known:
            raise AtparError(
                f"corpus.label_map names the label {name!r}, which the corpus doesn't have; "
                + did_you_mean(name, sorted(known))
            )
    mapped = [[label_map.get(name, name) for name in one] for one in sets]
    if label_kind == "multiple":
        texts = [set_text(list(dict.fromkeys(one))) for one in mapped]
    else:
        texts = [name for (name,) in mapped]
    classes = sorted(set(texts))
    place_of = {name: place for place, name in enumerate(classes)}
    places = np.array([place_of[name] for name in texts])
    return places[encoded.indices.to_numpy()], classes


def _check_tokens(counts: np.ndarray, ids: pa.Array, special: int, empty_text: str) -> int:
    """Return how many texts have no tokens of their own."""
    nothing = np.flatnonzero(counts == 0)
    if len(nothing):
        raise AtparError(
            f"{_named(nothing, ids)}: no tokens at all, and this tokenizer adds none of its own, "
            "so the model would get an empty input; take the entries out"
        )
    without = np.flatnonzero(counts <= special)
    if len(without) and empty_text == "reject":
        raise AtparError(
            f"{_named(without, ids)}: the tokenizer finds no tokens in the text (blank, or only "
            "characters that it drops); take the entries out, or set corpus.policy.empty_text: "
            "accept"
        )
    return len(without)


def _named(places: np.ndarray, ids: pa.Array) -> str:
    named = ", ".join(repr(ids[int(place)].as_py()) for place in places[:SHOWN])
    return f"corpus: id {named}" + (f" and {len(places) - SHOWN} more" * (len(places) > SHOWN))
