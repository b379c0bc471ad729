"""What the corpus tests share."""

from pathlib import Path

import pytest

from atpar.corpus.fingerprint import fingerprint_corpus

COLUMNS = {"id": "id", "text": "text", "label": "label", "split": None, "subgroups": []}
DIALECT = {"delimiter": ",", "quote": '"'}
POLICY = {"empty_text": "reject", "duplicate_text": "accept", "control_characters": "accept"}


@pytest.fixture
def read(tmp_path):
    """Return a function that reads files as a campaign does: (rows as dicts, fingerprint)."""
    import pyarrow.parquet as pq

    def read_files(*paths, policy=None, dialect=None, **columns):
        found = fingerprint_corpus(
            [str(path) for path in paths],
            {**COLUMNS, **columns},
            {**DIALECT, **(dialect or {})},
            {**POLICY, **(policy or {})},
            tmp_path / "out" / "source.parquet",
            tmp_path / "out" / "source.json",
        )
        return pq.read_table(tmp_path / "out" / "source.parquet").to_pylist(), found

    return read_files


@pytest.fixture
def write(tmp_path):
    """Return a function that writes text or bytes to a named file and returns its path."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
