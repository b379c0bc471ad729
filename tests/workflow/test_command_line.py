"""What is given with `--config` means in a pass' own script what it means in the plan."""

import json

import pytest


@pytest.mark.slow
def test_a_pass_reads_nested_numbers_and_nulls_as_the_plan_does(measured, tmp_path, monkeypatch):
    measured.configure(money={"campaign_cap": "1000000"})
    path = measured.results / "passes/one-thread/b1/2.json"
    path.unlink()
    # A null puts the locks where temporary files are: of this test alone here.
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    given = ["lock_folder=null", "production={entries: 100000}"]
    measured.snakemake(str(path.relative_to(measured.folder)), "--config", *given)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["status"], record["attempt_number"]) == ("ok", 2)
    assert list(temporary.rglob("*.lock"))
    assert not (measured.folder / "null").exists()
