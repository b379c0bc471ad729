"""The split: buckets by token count, the evaluation sample, and the corpus' fingerprint."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from atpar.canonical import read_json, write_json
from atpar.corpus.answers import label_sets
from atpar.corpus.entries import SPLITS, Assigned, Tables, write_entries
from atpar.corpus.measure import Measured, measure
from atpar.corpus.notes import corpus_notes
from atpar.corpus.sample import BucketRange, RareClass, assign_buckets, draw, passage
from atpar.corpus.tokens import TokenCounter
from atpar.errors import AtparError

DEFINITION = 1
EVALUATION, TUNING, RESERVE = range(len(SPLITS))


def split_buckets(
    source: Path,
    source_fingerprint: Path,
    tokenizer: Path,
    tokenizer_settings: Path,
    sample: Mapping[str, Any] | None,
    label_map: Mapping[str, str],
    empty_text: str,
    tables: Tables,
    fingerprint: Path,
) -> dict[str, Any]:
    """Count tokens, draw the evaluation corpus, write the tables and the fingerprint.

    `sample`, `label_map` and `empty_text` are the configuration's; without a sample every entry
    that isn't marked as tuning is the evaluation corpus, in one bucket `all`. Returns the
    fingerprint. Raises AtparError for a bucket that can't be filled and for texts without tokens.
    """
    settings = read_json(tokenizer_settings)
    found = read_json(source_fingerprint)
    kind = found.get("label_kind", "single")
    measured = measure(source, TokenCounter(tokenizer), settings, label_map, empty_text, kind)
    assigned, rare = assign(measured, sample)
    digests = write_entries(source, measured, assigned, tables)
    labelled = "label" in found["columns"] and kind != "number"
    content = {
        "definition": DEFINITION,
        **digests,
        "source_digest": found["source_digest"],
        "sources": found["sources"],
        "rows_in": found["rows"],
        "rows_out": len(measured.tokens),
        "policy_counts": {
            **found["policy_counts"],
            "without_tokens": measured.without_tokens,
            "pad_token_in_text": measured.with_pad_token,
        },
        "rare_classes": [asdict(one) for one in rare],
        "seed": sample["seed"] if sample else None,
        "tokenizer_digest": settings["tokenizer_digest"],
        "label_kind": kind,
        **_counts(measured, assigned, labelled, settings.get("model_max_length")),
    }
    if content["rows_in"] != content["rows_out"]:
        raise AtparError(
            f"{source}: {content['rows_out']} rows, but {source_fingerprint} counts "
            f"{content['rows_in']}; the two are from different runs, fingerprint the corpus again"
        )
    content["notes"] = corpus_notes(content, settings)
    write_json(fingerprint, content)
    return content


def assign(
    measured: Measured, sample: Mapping[str, Any] | None
) -> tuple[Assigned, list[RareClass]]:
    """Return each entry's bucket, place in the order of passage and split, and the rare classes."""
    entries = len(measured.tokens)
    order = np.full(entries, -1, np.int64)
    if sample is None:
        ranges, rare = [BucketRange("all", None, entries)], []
        places = np.flatnonzero(measured.eligible)
        if len(places) == 0:
            raise AtparError(
                "corpus: every row is marked as tuning, so none is left to evaluate; mark some "
                "as evaluation in the split column"
            )
    else:
        ranges = [
            BucketRange(one["name"], one["up_to_tokens"], one["entries"])
            for one in sample["buckets"]
        ]
    bucket_of = assign_buckets(measured.tokens, ranges)
    if sample is not None:
        places, rare = draw(
            bucket_of,
            measured.class_of,
            measured.classes,
            measured.eligible,
            ranges,
            sample["seed"],
            # Combinations of several labels are no classes: most of them are rare.
            keep_rare=measured.label_kind == "single" and sample["rare_classes"] == "keep",
        )
        places = passage(places, sample["order"], sample["seed"])
    order[places] = np.arange(len(places))
    left_over = RESERVE if measured.marked else TUNING
    split = np.where(measured.eligible, left_over, TUNING)
    split[places] = EVALUATION
    return Assigned([one.name for one in ranges], bucket_of, order, split), rare


def _counts(
    measured: Measured, assigned: Assigned, labelled: bool, limit: int | None
) -> dict[str, Any]:
    """Return the counts of entries, buckets, classes and tokens; `limit` is the tokenizer's."""
    drawn = assigned.order >= 0
    by_bucket, by_class = {}, {}
    for number, name in enumerate(assigned.buckets):
        inside = drawn & (assigned.bucket_of == number)
        by_bucket[name] = int(inside.sum())
        counts = np.bincount(measured.class_of[inside], minlength=len(measured.classes))
        pairs = zip(measured.classes, counts.tolist(), strict=True)
        by_class[name] = {label: count for label, count in pairs if count} if labelled else {}
    splits = np.bincount(assigned.split, minlength=len(SPLITS)).tolist()
    tokens = measured.tokens[drawn]
    return {
        "entries": dict(zip(SPLITS, splits, strict=True)),
        "buckets": by_bucket,
        "class_counts": by_class,
        "label_set": _label_set(by_class, measured.label_kind),
        "tokens": {
            "mean": float(tokens.mean()),
            "max": int(tokens.max()),
            "limit": limit,
            "above_limit": None if limit is None else int((tokens > limit).sum()),
        },
    }


def _label_set(by_class: Mapping[str, Mapping[str, int]], kind: str) -> list[str]:
    """Return the labels that occur; of several labels an entry, each one."""
    classes = {label for counts in by_class.values() for label in counts}
    if kind == "multiple":
        return sorted({label for one in label_sets(list(classes)) for label in one})
    return sorted(classes)
