"""Secrets of the node's environment are in no file that a campaign, an export or a bag leaves."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def contents(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Give a file's bytes, and what is packed in it: members of archives, cells of tables."""
    yield name, content
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as pack:
            for member in pack.namelist():
                yield from contents(f"{name}/{member}", pack.read(member))
    elif content.startswith(b"PAR1"):
        table = pq.read_table(io.BytesIO(content))
        yield f"{name} (cells)", (repr(table.schema.metadata) + repr(table.to_pylist())).encode()


def leaks(folder: Path, secrets: list[str]) -> list[str]:
    """Return each place below `folder` that holds a secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [
        f"{name}: {secret}"
        for path in files
        for name, content in contents(str(path.relative_to(folder)), path.read_bytes())
        for secret in secrets
        if secret.encode() in content
    ]


def test_nothing_that_is_written_holds_a_secret(measured, secrets):
    done = measured.snakemake("export", "evidence")
    written = {path.name for path in measured.folder.rglob("*") if path.is_file()}
    assert {"evidence.zip", "report.html", "decision.json", "worker.log", "job.json"} <= written
    assert list((measured.results / "export").glob("*.zip"))
    assert leaks(measured.folder, secrets) == []
    assert not [secret for secret in secrets if secret in done.stdout + done.stderr]


@pytest.mark.parametrize("kind", ["text", "archive", "nested", "table"])
def test_a_leak_would_be_found(tmp_path, kind):
    path = tmp_path / "file"
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("a/log.txt", "token: planted " * 9)
    if kind == "text":
        path.write_text("token: planted")
    elif kind == "archive":
        path.write_bytes(inner.getvalue())
    elif kind == "nested":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
            pack.writestr("b.zip", inner.getvalue())
    else:
        pq.write_table(pa.table({"note": ["planted"] * 99}), path, compression="zstd")
    assert leaks(tmp_path, ["planted"])
    assert not leaks(tmp_path, ["absent"])
