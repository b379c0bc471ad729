"""The corpus' fingerprint: every source file and every row, hashed once and kept as one table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.canonical import file_digest, whole_file, write_json
from atpar.corpus.columns import TEXT
from atpar.corpus.digests import RowDigest
from atpar.corpus.policy import SHOWN, TextPolicy
from atpar.corpus.read import Rows, read_rows, roles
from atpar.corpus.repeats import count_repeats, hashes, together
from atpar.corpus.sources import SourceFile, source_files
from atpar.errors import AtparError

DEFINITION = 1


@dataclass
class Places:
    """Where the rows of the whole corpus stand: file and row of each place."""

    parts: list[tuple[int, str, int]] = field(default_factory=list)  # first place, path, first row
    rows: int = 0

    def add(self, rows: Rows) -> None:
        """Count the rows of a batch on."""
        self.parts.append((self.rows, rows.path, rows.first_row))
        self.rows += rows.batch.num_rows

    def name(self, place: int) -> str:
        """Return `path, row n` of a place."""
        first, path, row = max(part for part in self.parts if part[0] <= place)
        return f"{path}, row {row + place - first}"


def fingerprint_corpus(
    files: Sequence[str],
    columns: Mapping[str, Any],
    dialect: Mapping[str, str],
    policy: Mapping[str, str],
    table: Path,
    fingerprint: Path,
) -> dict[str, Any]:
    """Read all files, write their rows as one Parquet table, and their fingerprint as JSON.

    `columns`, `dialect` and `policy` are the configuration's. Returns the fingerprint. Raises
    AtparError for anything that isn't exact text, for repeated ids, and for what the policy
    rejects; every message names file and row.
    """
    wanted = roles(columns)
    texts, places, ids = TextPolicy(policy, wanted["text"]), Places(), []
    digest_of_rows = RowDigest(list(wanted))
    schema = pa.schema([(name, TEXT) for name in wanted])
    sources, counted = source_files(list(files)), Counter()
    # Hashing and counting release the interpreter for the most part, so they take a second core.
    with (
        ThreadPoolExecutor(1) as hasher,
        ThreadPoolExecutor(1) as looker,
        whole_file(table) as temporary,
    ):
        hashed = [hasher.submit(_file_facts, source.path) for source in sources]
        with (
            _without_the_rest(hasher),
            pq.ParquetWriter(
                temporary, schema, compression="zstd", use_dictionary=_repetitive(wanted)
            ) as writer,
        ):
            for source in sources:
                for rows in read_rows(source, columns, dialect, policy):
                    looked = looker.submit(texts.look, rows)
                    writer.write_batch(rows.batch)
                    digest_of_rows.update(rows.batch)
                    ids.append(hashes(rows.batch.column("id")))
                    places.add(rows)
                    counted[source.path] += rows.batch.num_rows
                    looked.result()
        _check_rows(sources, places, ids, temporary)
        _check_repeated_texts(texts, policy, places, temporary)
        facts = [one.result() for one in hashed]
    content = {
        "definition": DEFINITION,
        "source_digest": digest_of_rows.hexdigest(),
        "sources": [{**one, "rows": counted[one["path"]]} for one in facts],
        "columns": wanted,
        "label_kind": columns.get("label_kind", "single"),
        "rows": places.rows,
        "policy_counts": texts.counts(),
    }
    write_json(fingerprint, content)
    return content


@contextmanager
def _without_the_rest(hasher: ThreadPoolExecutor) -> Iterator[None]:
    """What stops the load is told at once: no file that waits to be hashed comes before it."""
    try:
        yield
    except BaseException:
        hasher.shutdown(wait=False, cancel_futures=True)
        raise


def _repetitive(wanted: Mapping[str, str]) -> list[str] | bool:
    """Return the columns whose values repeat, so that a dictionary pays."""
    return [name for name in wanted if name not in ("id", "text")] or False


def _file_facts(path: str) -> dict[str, Any]:
    try:
        return {"path": path, "sha256": file_digest(path), "bytes": Path(path).stat().st_size}
    except FileNotFoundError:
        return {"path": path}  # the reader names it


def _check_rows(
    sources: Sequence[SourceFile], places: Places, ids: Sequence[np.ndarray], table: Path
) -> None:
    """Refuse an empty corpus and repeated ids; `ids` are their hashes, the ids are in `table`."""
    if places.rows == 0:
        named = ", ".join(source.path for source in sources)
        raise AtparError(f"{named}: no rows; the corpus is empty")
    if count_repeats(together(ids)) == 0:
        return
    column = _ids(table)
    counts = pc.value_counts(column.combine_chunks())
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated) == 0:
        return  # two ids with one hash
    named = []
    for entry in repeated.slice(0, SHOWN):
        at = np.flatnonzero(pc.equal(column, entry).to_numpy())[:SHOWN]
        named.append(f"id {entry.as_py()!r}: {'; '.join(places.name(int(place)) for place in at)}")
    raise AtparError(
        f"{len(repeated)} ids are there more than once; an id stands for one row. "
        + " | ".join(named)
    )


def _check_repeated_texts(
    texts: TextPolicy, policy: Mapping[str, str], places: Places, table: Path
) -> None:
    if policy["duplicate_text"] != "reject":
        return
    repeated = texts.duplicates()
    if len(repeated):
        column = _ids(table)
        named = "; ".join(
            f"{places.name(int(place))} (id {column[int(place)].as_py()!r})"
            for place in repeated[:SHOWN]
        )
        raise AtparError(
            f"{len(repeated)} texts repeat an earlier one: {named}; take them out, or set "
            "corpus.policy.duplicate_text: accept"
        )


def _ids(table: Path) -> pa.ChunkedArray:
    return pq.read_table(table, columns=["id"]).column("id")
