"""The disk's speed is read from the corpus, or the reason says why it isn't known."""

import json

import pytest

from atpar.engine import environment
from atpar.engine.disk import LONGEST, largest_file, read_speed
from atpar.engine.environment import inspect_offer


def test_a_large_file_is_timed(tmp_path):
    path = tmp_path / "corpus.parquet"
    path.write_bytes(b"x" * 3_000_000)
    found, reason = read_speed(str(path))
    assert reason is None
    assert found["bytes_read"] == 3_000_000 and found["bytes_per_s"] > 1e5


def test_a_read_has_an_end(tmp_path):
    path = tmp_path / "corpus.parquet"
    with path.open("wb") as stream:
        stream.truncate(LONGEST + 5_000_000)  # A hole: no disk is needed for it.
    assert read_speed(str(path))[0]["bytes_read"] == LONGEST


def test_a_speed_that_is_not_known_is_none_with_its_reason(tmp_path):
    small = tmp_path / "small.csv"
    small.write_text("id,text\n")
    assert read_speed(str(small)) == (
        None,
        "the corpus' largest file has 8 bytes, too few to time a disk",
    )
    assert read_speed(largest_file([tmp_path / "no.csv"])) == (
        None,
        "the corpus' files aren't on this machine",
    )
    assert largest_file([small, tmp_path / "no.csv"]) == str(small)


def test_network_is_as_stated_and_changes_no_digest(tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_bytes(b"{}\n" * 500_000)
    paths = [tmp_path / name for name in ("silent.json", "stated.json")]
    offer = {"offer": "here", "device": "cpu"}
    inspect_offer(offer, paths[0])
    inspect_offer(offer, paths[1], corpus=str(corpus), network="10 Gbit/s, shared")
    silent, stated = (json.loads(path.read_text()) for path in paths)
    assert silent["network"] is None and "doesn't state it" in silent["reasons"]["network"]
    assert silent["disk"] is None and silent["reasons"]["disk"]
    assert stated["network"] == "10 Gbit/s, shared"
    assert stated["disk"]["bytes_read"] == 1_500_000
    assert silent["digest"] == stated["digest"]
    assert "memory_limit_bytes" in silent


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"memory.max": "max\n"}, None),
        ({"memory.max": "2147483648\n"}, 2**31),
        ({"memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ({"memory.limit_in_bytes": "1073741824\n"}, 2**30),
    ],
)
def test_the_control_groups_limit_bounds_the_memory(tmp_path, monkeypatch, files, limit):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(environment, "cgroup_folders", lambda: [tmp_path])
    environment.inspect_offer({"offer": "here", "device": "cpu"}, tmp_path / "environment.json")
    found = json.loads((tmp_path / "environment.json").read_text())
    assert found["memory_limit_bytes"] == limit
    assert ("memory_limit_bytes" in found["reasons"]) == (limit is None)
    if limit:
        assert found["memory_bytes"] == limit
