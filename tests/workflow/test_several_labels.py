"""A campaign of a multi-label model whose series extends itself, from the corpus to the decision.

One campaign for both, measured once: two variants on one offer, one repetition, and a sealed limit
of two. So few durations never reach the level of the rank test, so the options are always tied.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from atpar.journal import journal

_path = Path(__file__).with_name("carrying.py")
_spec = importlib.util.spec_from_file_location("carrying", _path)
carrying = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(carrying)

DECISION = "results/small/decision.json"


@pytest.fixture(scope="module")
def several(fresh, tmp_path_factory):
    """The campaign, and what the one command that ran it printed."""
    workspace = fresh.copy(tmp_path_factory.mktemp("several") / "work")
    lines = (workspace.folder / "corpus.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    for number, row in enumerate(rows):
        row[2] = ["fruit", "tool|fruit", ""][number % 3]
    text = "\n".join([lines[0], *map(",".join, rows)]) + "\n"
    (workspace.folder / "corpus.csv").write_text(text, encoding="utf-8")
    path = workspace.folder / "model" / "config.json"
    facts = {**json.loads(path.read_text()), "problem_type": "multi_label_classification"}
    path.write_text(json.dumps(facts))
    variants = workspace.folder / "config/demo/variants.tsv"
    variants.write_text("variant\tbatch_size\nb1\t1\nb4\t4\n")
    offers = workspace.folder / "config/demo/offers.tsv"
    kept = [line for line in offers.read_text().splitlines() if not line.startswith("two-")]
    offers.write_text("\n".join(kept) + "\n")
    workspace.configure(
        corpus={"columns": {"label_kind": "multiple", "label_separator": "|"}},
        protocol={
            "metric": "samples_f1",
            "metrics": ["accuracy", "f1[tool]"],
            "subgroups": ["bucket", "label"],
            "repetitions": 1,
            "extension": {"mode": "automatic", "limit": 2},
        },
    )
    planned = workspace.to_run(DECISION)
    done = workspace.snakemake(DECISION)
    return workspace, planned, done.stdout + done.stderr


def test_several_labels_an_entry_go_through_the_whole_chain(several):
    workspace, _, _ = several
    for variant in ("b1", "b4"):
        quality = json.loads((workspace.results / f"quality/one-thread/{variant}.json").read_text())
        for found in quality["passes"]:
            assert found["verdict"] == "accepted", found["reasons"]
            assert set(found["metrics"]) == {"samples_f1", "accuracy", "f1[tool]", "agreement"}
            assert found["metrics"]["agreement"] == 1.0
            groups = {one["value"] for one in found["subgroups"] if one["column"] == "label"}
            assert groups == {"fruit", "tool", "(no value)"}
    decision = json.loads((workspace.results / "decision.json").read_text())
    assert {one["quality_verdict"] for one in decision["options"]} == {"accepted"}


def test_a_tied_series_extends_itself_to_the_sealed_limit_and_no_further(several):
    workspace, planned, output = several
    # The dry run plans what is certain; the round that was granted is measured by the same call.
    assert planned["measure_pass"] == 2
    assert "aren't told apart after 1 repetitions: one more round for all variants" in output
    attempts = [
        event["attempt_id"]
        for event in journal.read(workspace.results / "journal/one-thread.jsonl")
        if event["event"] == "finished"
    ]
    # No earlier pass was repeated, and the new round is rotated.
    assert attempts == [f"one-thread/{p}/1" for p in ("b1/1", "b4/1", "b4/2", "b1/2")]
    granted = journal.read(workspace.results / "protocol/extensions.jsonl")
    assert [one["repetition"] for one in granted] == [2]
    decision = json.loads((workspace.results / "decision.json").read_text())
    assert decision["outcome"] == "tied"
    assert "The sealed limit of 2 repetitions is reached" in decision["next_step"]


def test_a_round_that_a_node_granted_itself_is_decided_from_elsewhere(several, tmp_path):
    node, _, _ = several
    node.snakemake("export")
    checkout = carrying.laptop(node, tmp_path / "laptop")
    carrying.hand_in(node.results / "export/one-thread.zip", checkout)
    checkout.snakemake(DECISION)
    expected, found = carrying.balance(node), carrying.balance(checkout)
    assert {one["admissible"] for one in found["decision"]["options"]} == {True}
    for part, value in expected.items():
        assert found[part] == value, part
