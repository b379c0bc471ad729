"""The real load that a forecast is made for: a count with shares of buckets, or files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from atpar.canonical import whole_file
from atpar.corpus.read import read_rows
from atpar.corpus.sources import source_files
from atpar.corpus.tokens import TokenCounter
from atpar.errors import AtparError, did_you_mean

SAMPLE = 20_000
"""Entries from which the padding of a load is computed, at least; then it is scaled."""
SEED = 20260924


def measure_production(
    files: Sequence[str],
    columns: Mapping[str, str],
    dialect: Mapping[str, str],
    policy: Mapping[str, str],
    tokenizer: str | Path,
    output: str | Path,
) -> None:
    """Tokenize the texts of the real load and keep their token counts (column `tokens`).

    `columns` names the columns of `id` and `text`; `dialect` and `policy` are the corpus'.
    """
    counter = TokenCounter(tokenizer)
    texts = {**columns, "label": None, "split": None, "subgroups": []}
    counts = [
        counter.count(rows.batch.column("text"))
        for source in source_files(list(files))
        for rows in read_rows(source, texts, dialect, policy)
    ]
    # A file may hold a header and no row.
    if not sum(map(len, counts)):
        raise AtparError(f"production.files: no texts in {', '.join(files)}")
    table = pa.table({"tokens": np.concatenate(counts)})
    with whole_file(output) as temporary:
        pq.write_table(table, temporary)


def evaluation_lengths(reference: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Return token counts and buckets of the evaluation corpus, in the order of passage."""
    table = pq.read_table(reference, columns=["tokens", "bucket"])
    return table["tokens"].to_numpy(), np.array(table["bucket"].to_pylist(), dtype=object)


def production_lengths(path: str | Path) -> np.ndarray:
    """Return the token counts that `measure_production` kept."""
    return pq.read_table(path, columns=["tokens"])["tokens"].to_numpy()


def typical_lengths(
    lengths: np.ndarray, buckets: np.ndarray, shares: Mapping[str, float] | None
) -> np.ndarray:
    """Return token counts of a typical stretch of the load, in an order drawn once.

    Without shares the evaluation corpus itself, repeated up to the sample's size. With shares each
    bucket is drawn from its own entries in that proportion. AtparError: a bucket that isn't there.
    """
    draw = np.random.default_rng(SEED)
    if shares is None:
        repeated = np.tile(lengths, -(-SAMPLE // len(lengths)))
        return draw.permutation(repeated)
    known = sorted(set(buckets))
    parts = []
    for name, share in shares.items():
        own = lengths[buckets == name]
        if share and not len(own):
            raise AtparError(
                f"production.buckets: the evaluation corpus has no entry in {name!r}; "
                + did_you_mean(name, known)
            )
        if share:
            parts.append(draw.choice(own, round(share * SAMPLE)))
    return draw.permutation(np.concatenate(parts))


def describe_load(entries: int, lengths: np.ndarray) -> dict[str, Any]:
    """Return what is said of the load: entries, mean and longest in tokens."""
    return {
        "entries": entries,
        "mean_tokens": round(float(lengths.mean()), 2),
        "longest_tokens": int(lengths.max()),
    }
