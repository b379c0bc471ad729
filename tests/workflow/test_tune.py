"""`snakemake tune` proposes variants from tuning entries, and stays out of the balance."""

import csv

import pyarrow.parquet as pq


def test_tuning_proposes_variants_and_reads_tuning_entries_alone(workspace):
    workspace.configure(
        tune={"variant": "b1", "smallest": 2, "largest": 4, "entries": 10},
        here="one-thread",
    )
    workspace.snakemake("tune")
    folder = workspace.results / "tune/one-thread"

    with (folder / "trials.csv").open(newline="") as stream:
        trials = list(csv.DictReader(stream))
    assert [(one["value"], one["status"]) for one in trials] == [("2", "ok"), ("4", "ok")]

    entries = pq.read_table(workspace.results / "corpus/entries.parquet").to_pylist()
    split = {entry["id"]: entry["split"] for entry in entries}
    tried = pq.read_table(folder / "corpus.parquet")["id"].to_pylist()
    assert len(tried) == 10
    assert {split[name] for name in tried} == {"tuning"}

    # What it proposes is a valid variants table; what it measured is no attempt of the campaign.
    table = workspace.folder / "config/demo/variants.tsv"
    proposal = (folder / "variants.tsv").read_text()
    table.write_text(proposal)
    name = next(line for line in proposal.splitlines() if line.startswith("b1-")).split("\t")[0]
    workspace.configure(protocol={"tolerance": {"reference": name}}, tune=None)
    assert workspace.to_run("passes")["measure_pass"] >= 2
    assert not (workspace.results / "journal").exists()
    assert not (workspace.results / "protocol/seal.json").exists()


def test_a_variant_that_is_not_there_is_refused(workspace):
    workspace.configure(tune={"variant": "b9"})
    done = workspace.snakemake("-n", expect=None)
    assert done.returncode != 0
    assert "tune.variant is 'b9'" in done.stdout + done.stderr
