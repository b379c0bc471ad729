"""Three offers measured in three checkouts give one decision, on a machine that measured none."""

import csv
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_path = Path(__file__).with_name("carrying.py")
_spec = importlib.util.spec_from_file_location("carrying", _path)
carrying = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(carrying)


@pytest.fixture(scope="module")
def ready(fresh, tmp_path_factory):
    """A checkout with corpus, model and seal, ready to measure three offers."""
    workspace = fresh.copy(tmp_path_factory.mktemp("ready") / "work")
    carrying.three_offers(workspace, "b1")
    workspace.snakemake("seal", "results/small/model/labels.json")
    return workspace


@pytest.fixture(scope="module")
def nodes(ready, tmp_path_factory):
    """Three checkouts, each with one offer measured and exported."""
    found = {}
    for name in "abc":
        node = ready.copy(tmp_path_factory.mktemp(name) / "work")
        node.configure(here=name)
        # In one call: the archive is packed after the passes.
        node.snakemake("passes", "export")
        found[name] = node
    return found


@pytest.fixture(scope="module")
def merged(nodes, ready, tmp_path_factory):
    """A laptop that took the three shares in and decided, in one call."""
    checkout = carrying.laptop(ready, tmp_path_factory.mktemp("laptop") / "work")
    for name, node in nodes.items():
        carrying.hand_in(node.results / "export" / f"{name}.zip", checkout)
    checkout.snakemake()
    return checkout


def as_measured_here(nodes, ready, folder):
    """Return one checkout that measured all three offers: the nodes' files with their metadata."""
    single = ready.copy(folder)
    for name, node in nodes.items():
        for part in ("passes", "predictions", "attempts", "offers"):
            shutil.copytree(node.results / part / name, single.results / part / name)
        (single.results / "journal").mkdir(exist_ok=True)
        shutil.copy2(node.results / "journal" / f"{name}.jsonl", single.results / "journal")
        shutil.copytree(
            node.folder / ".snakemake" / "metadata",
            single.folder / ".snakemake" / "metadata",
            dirs_exist_ok=True,
        )
    return single


def test_three_checkouts_decide_as_one(merged, nodes, ready, tmp_path):
    single = as_measured_here(nodes, ready, tmp_path / "single")
    assert "measure_pass" not in single.to_run()
    single.snakemake("results/small/decision.json", "results/small/balance.csv")
    expected, found = carrying.balance(single), carrying.balance(merged)
    assert len(found["attempts"]) == 3
    for part, value in expected.items():
        assert found[part] == value, part


def test_one_checkout_decides_as_its_shares_carried_elsewhere(finished, tmp_path):
    """The other way round: really measured in one checkout, then handed on offer by offer.

    Twelve passes in an order that rotates over both offers. Two measurements of one pass never
    take the same time, so equal decisions can be asked only of the same passes.
    """
    checkout = carrying.laptop(finished, tmp_path / "laptop")
    for offer in ("one-thread", "two-threads"):
        node = finished.copy(tmp_path / offer)
        node.configure(here=offer)
        node.snakemake("export")
        carrying.hand_in(node.results / "export" / f"{offer}.zip", checkout)
    checkout.snakemake("results/small/decision.json", "results/small/balance.csv")
    expected, found = carrying.balance(finished), carrying.balance(checkout)
    assert len(found["attempts"]) == 12
    for part, value in expected.items():
        assert found[part] == value, part


def test_a_laptop_decides_without_corpus_and_model_and_reruns_nothing(merged, tmp_path):
    assert (merged.results / "report.html").exists()
    assert not (merged.folder / "model").exists()
    assert not (merged.results / "corpus" / "entries.parquet").exists()
    assert merged.to_run() == {}
    again = merged.copy(tmp_path / "again")
    # The same archives once more, copied anew: taken in, without any change.
    for archive in (again.results / "incoming").glob("*.zip"):
        archive.write_bytes(archive.read_bytes())
    assert set(again.to_run("merge")) == {"merge_shares", "merge"}
    before = {path: path.stat().st_mtime_ns for path in (again.results / "passes").rglob("*.json")}
    again.snakemake("merge")
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_foreign_passes_are_sources_for_whatever_changes_here(merged, tmp_path):
    changed = merged.copy(tmp_path / "changed")
    changed.edit("variants.tsv", "b1	batch-size	fp32	1", "b1	batch-size	fp32	2")
    assert "measure_pass" not in changed.to_run()
    changed.edit("workflow/atpar/engine/span.py", "import ", "import os\nimport ")
    assert "measure_pass" not in changed.to_run()


def test_one_more_share_brings_only_its_own_work(nodes, ready, tmp_path):
    checkout = carrying.laptop(ready, tmp_path / "two")
    for name in "ab":
        carrying.hand_in(nodes[name].results / "export" / f"{name}.zip", checkout)
    # Planned before anything is taken in: what is promised is part of the plan.
    planned = checkout.to_run()
    assert planned["merge_shares"] == 1 and planned["check_predictions"] == 2
    checkout.snakemake("--until", "tabulate_attempts")
    carrying.hand_in(nodes["c"].results / "export" / "c.zip", checkout)
    planned = checkout.to_run()
    assert planned["merge_shares"] == 1 and planned["check_predictions"] == 1
    assert "measure_pass" not in planned and planned["tabulate_attempts"] == 1


def test_a_damaged_share_is_refused_by_name_and_nothing_is_taken(nodes, ready, tmp_path):
    checkout = carrying.laptop(ready, tmp_path / "damaged")
    carrying.hand_in(nodes["a"].results / "export" / "a.zip", checkout)
    torn = carrying.hand_in(nodes["b"].results / "export" / "b.zip", checkout)
    torn.write_bytes(torn.read_bytes()[:-100])
    done = checkout.snakemake("merge", expect=1)
    output = done.stdout + done.stderr
    assert "b.zip: damaged" in output
    assert "Traceback" not in output
    kept = {path.name for path in checkout.results.iterdir() if not path.name.startswith(".")}
    assert kept <= {"incoming", "logs", "merged"}


def test_export_while_a_pass_is_running(nodes, tmp_path):
    node = nodes["a"].copy(tmp_path / "running")
    journal = node.results / "journal" / "a.jsonl"
    last = journal.read_bytes().splitlines(keepends=True)[-1]
    with journal.open("ab") as stream:
        stream.write(last[: len(last) // 2])
    node.snakemake("export")
    with zipfile.ZipFile(node.results / "export" / "a.zip") as pack:
        assert pack.read("journal/a.jsonl") == journal.read_bytes()[: -(len(last) // 2)]


def test_a_node_killed_while_it_exports_leaves_the_old_archive_or_none(nodes, tmp_path):
    node = nodes["a"].copy(tmp_path / "killed")
    archive = node.results / "export" / "a.zip"
    archive.unlink()
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from atpar.carry import archive, export\n"
        "add, left = archive._add, [5]\n"
        "def die(*arguments):\n"
        "    left[0] -= 1\n"
        "    if not left[0]:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return add(*arguments)\n"
        "archive._add = die\n"
        "results = Path('results/small')\n"
        "export.export_share(results, 'small', ['a'], results / 'export/a.zip')\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code], cwd=node.folder, env=node.environment(), check=False
    )
    assert killed.returncode == -9
    assert not archive.exists()
    node.snakemake("export")
    assert zipfile.ZipFile(archive).testzip() is None


def test_another_stack_on_one_machine_is_said(merged, tmp_path):
    checkout = merged.copy(tmp_path / "stacks")
    path = checkout.results / "offers" / "c" / "environment.json"
    environment = json.loads(path.read_text())
    environment["software"]["torch"] = "2.14.0"
    path.write_text(json.dumps(environment))
    assert checkout.to_run("results/small/decision.json") == {"decide": 1}
    checkout.snakemake("results/small/decision.json")
    note = (checkout.results / "decision.md").read_text()
    assert "whole configurations" in note and "2.14.0" in note


def test_a_campaign_beside_the_one_that_it_follows(merged, tmp_path):
    checkout = merged.copy(tmp_path / "follows")
    checkout.configure(follows="earlier")
    done = checkout.snakemake("follows", expect=1)
    assert "results/earlier/summary.csv: not here" in done.stdout + done.stderr
    # Asked for nothing special, the campaign is decided all the same, and its page says what lacks.
    done = checkout.snakemake()
    assert "results/earlier/summary.csv isn't here" in done.stdout + done.stderr
    page = (checkout.results / "report.html").read_text()
    assert "Beside earlier" in page and "bring results/earlier there" in page
    assert not (checkout.results / "follows.csv").exists()

    earlier = checkout.results.parent / "earlier"
    shutil.copytree(checkout.results, earlier)
    older = earlier / "offers" / "c" / "environment.json"
    older.write_text(re.sub(r'"torch": ?"[^"]*"', '"torch":"2.0.1"', older.read_text()))
    assert checkout.to_run() == {"compare_campaigns": 1, "render_report": 1}
    checkout.snakemake()
    with (checkout.results / "follows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["subject"] for row in rows} == {
        "question", "stack", "quality", "duration", "cost", "decision"
    }  # fmt: skip
    [changed] = [row for row in rows if row["changed"] == "true"]
    assert (changed["offer"], changed["item"], changed["before"]) == (
        "c",
        "software.torch",
        "2.0.1",
    )
    section = (checkout.results / "report.html").read_text().partition('<section id="beside"')[2]
    section = section.partition("</section>")[0]
    assert "stack 1 of" in section and "cost 0 of" in section and "2.0.1" in section
    for row in rows:
        if row["subject"] == "duration" and row["item"] == "successes":
            assert row["before"] == row["after"] == "1"


def test_auto_does_not_guess_on_a_machine_without_a_gpu(ready, tmp_path):
    checkout = ready.copy(tmp_path / "auto")
    checkout.configure(here="auto")
    # Hidden from NVML's answer too, should this machine have one.
    environment = {**checkout.environment(), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "-n", "--configfile", "small.yaml"],
        cwd=checkout.folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "here is 'auto', but no GPU is visible here; name the offer" in done.stdout
