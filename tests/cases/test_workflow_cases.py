"""Cases of Snakemake and the configuration (W), met through the real `snakemake`."""

import csv
import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from atpar import canonical
from atpar.calendar.tasks import read_tasks
from atpar.config.load import read_table
from atpar.config.offers import Offer
from atpar.decision.attempts import read_exclusions
from atpar.decision.drift import overlapping
from atpar.errors import AtparError
from atpar.money.keep import read_expenses

WORKFLOW_TESTS = Path(__file__).resolve().parents[1] / "workflow"


def _load(name):
    path = WORKFLOW_TESTS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"workflow_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_workspaces, faults = _load("conftest"), _load("injected")
# The same workspaces as those of tests/workflow: of one session, each is built once.
fresh, finished = _workspaces.fresh, _workspaces.finished
workspace, measured = _workspaces.workspace, _workspaces.measured

ADDED = "results/small/passes/one-thread/b1/3.json"
"""A pass that the finished campaign doesn't have yet: its repetitions are two."""


def added_pass(finished, folder):
    """Return a copy of the finished campaign that has one more repetition to measure."""
    copy = finished.copy(folder)
    copy.configure(repetitions_added=1)
    return copy


def record_of(workspace, path=ADDED):
    return json.loads((workspace.folder / path).read_text())


def events(workspace, offer="one-thread"):
    """Return (event, attempt id) of the added pass's attempts, in the journal's order."""
    lines = (workspace.results / "journal" / f"{offer}.jsonl").read_text().splitlines()
    found = [(event["event"], event["attempt_id"]) for event in map(json.loads, lines)]
    return [one for one in found if "/b1/3/" in one[1]]


def table(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def killed(finished, tmp_path_factory):
    """One pass more, whose worker was killed; retries were asked for. And what was printed."""
    copy = added_pass(finished, tmp_path_factory.mktemp("killed") / "work")
    with faults.injected(copy, "atpar.engine.progress", faults.KILLED_PASS):
        done = copy.snakemake(ADDED, "--retries", "2", expect=None)
    return copy, done


@pytest.fixture(scope="module")
def told(killed, tmp_path_factory):
    """The campaign with the killed pass, decided where nothing is measured any more."""
    copy = killed[0].copy(tmp_path_factory.mktemp("told") / "work")
    copy.configure(here="none")
    copy.snakemake()
    return copy


def test_w01_yaml_typing(workspace):
    """The type that YAML made of a value is refused with that value, and how to write it."""
    (workspace.folder / "small.yaml").write_text(
        "campaign: 010\nfollows: off\n"
        "corpus: {columns: {text: no}}\n"
        "model: {path: 3.10, revision: 2026-03-29}\n"
        "protocol: {deadline: 22:30, minimum: 1e-3, repetitions: yes, deterministic: 'no',\n"
        "  warm_up: {entries: 1e2}, pass_timeout_s: '120',\n"
        "  reproduction: {absolute: 1e-6}}\n"
        "tables: {offers: 1_299}\n"
    )
    done = workspace.snakemake("-n", expect=1)
    output = done.stdout + done.stderr
    quotes, number = "put it in quotes", "it was read as text, so write"
    for option, value, remedy in [
        ("campaign", "8", quotes),
        ("follows", "False", quotes),
        ("corpus.columns.text", "False", quotes),
        ("model.path", "3.1", quotes),
        ("model.revision", "datetime.date(2026, 3, 29)", quotes),
        ("protocol.deadline", "1350", quotes),
        ("tables.offers", "1299", quotes),
        ("protocol.minimum", "'1e-3'", f"{number} 0.001 (no quotes)"),
        ("protocol.reproduction.absolute", "'1e-6'", f"{number} 0.000001 (no quotes)"),
        ("protocol.warm_up.entries", "'1e2'", f"{number} 100 (no quotes)"),
        ("protocol.pass_timeout_s", "'120'", f"{number} 120 (no quotes)"),
        ("protocol.deterministic", "'no'", "write true or false, without quotes"),
        ("protocol.repetitions", "True", "input should be a valid integer"),
    ]:
        lines = [line for line in output.splitlines() if f"{option} is {value}: " in line]
        assert lines and remedy in lines[0], (option, output)
    assert "Traceback" not in output


def test_w01_yaml_typing_on_the_command_line_and_in_tables(workspace):
    """The same value means the same in a file, after `--config` and in a table."""
    given = "protocol={deadline: 22:30, minimum: 1e-3, pass_timeout_s: 1_20}"
    done = workspace.snakemake("-n", "--config", given, expect=1)
    output = done.stdout + done.stderr
    assert "protocol.deadline is 1350: " in output
    assert "protocol.minimum is '1e-3': " in output
    assert "pass_timeout_s" not in output, "YAML's 1_20 is the number 120"

    workspace.edit("config/demo/variants.tsv", "b4\tbatch-size\tfp32\t4\t", "010\tno\tfp32\t1e1\t")
    done = workspace.snakemake("-n", expect=1)
    output = done.stdout + done.stderr
    assert "variants.tsv" in output and "batch_size is '1e1'" in output
    # A table's names are text as it is written: nothing of it is octal or a truth value.
    workspace.edit("config/demo/variants.tsv", "\t1e1\t", "\t4\t")
    done = workspace.snakemake("-n", "results/small/passes/one-thread/010/1.json")
    assert "one-thread/010" in done.stdout + done.stderr


ROWS = {
    "offers": {"offer": "o1", "provider": "p", "gpu": "g", "lots": "1"},
    "calendar": {"task": "measure", "kind": "passes", "duration": "1h"},
    "expenses": {"expense": "fee", "unit_price": "1", "grounds": "contract"},
    "exclusions": {"attempt_id": "NA/010/1/1", "cause": "power cut", "evidence": "ticket 7"},
}
"""A row of each table with what it needs."""


def read_row(path, table, **cells):
    """Return the row that the product's own reader makes of a table's one row."""
    row = {**ROWS[table], **cells}
    path.write_text("\t".join(row) + "\n" + "\t".join(row.values()) + "\n", encoding="utf-8")
    readers = {
        "offers": lambda: read_table(path, Offer, "offer"),
        "calendar": lambda: read_tasks(path),
        "expenses": lambda: read_expenses(path, ["NA", "010", "1e3", "yes"]),
        "exclusions": lambda: list(read_exclusions(path, ["NA/010/1/1"]).values()),
    }
    [found] = readers[table]()
    return found


@pytest.mark.parametrize("cell", ["010", "1e3", "NA", "yes", "22", "null", "1_299"])
@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("offers", ["offer", "provider", "gpu", "sku", "region", "device_name", "network"]),
        ("calendar", ["task", "offer", "notes"]),
        ("expenses", ["expense", "variant", "unit", "grounds", "source"]),
        ("exclusions", ["cause", "evidence"]),
    ],
)
def test_w01_texts_in_tables_stay_as_they_are_written(tmp_path, table, columns, cell):
    found = read_row(tmp_path / f"{table}.tsv", table, **dict.fromkeys(columns, cell))
    assert [getattr(found, column) for column in columns] == [cell] * len(columns)


@pytest.mark.parametrize(
    ("table", "column", "cell"),
    [
        ("offers", "lots", "1e3"),
        ("offers", "lots", "yes"),
        ("offers", "term_days", "NA"),
        ("offers", "threads", "1_0.5"),
        ("offers", "storage_gb", "1e3"),
        ("offers", "device", "no"),
        ("calendar", "duration", "1e3"),
        ("calendar", "duration", "22:30"),
        ("calendar", "start", "22:30"),
        ("calendar", "zone", "NA"),
        ("calendar", "rental", "yes"),
        ("expenses", "unit_price", "1e3"),
        ("expenses", "quantity", "NA"),
        ("expenses", "currency", "no"),
        ("exclusions", "attempt_id", "010"),
    ],
)
def test_w01_cells_of_another_kind_are_refused_with_file_line_and_value(
    tmp_path, table, column, cell
):
    path = tmp_path / f"{table}.tsv"
    with pytest.raises(AtparError) as caught:
        read_row(path, table, **{column: cell})
    message = str(caught.value)
    assert message.startswith(f"{path}, line 2: "), message
    assert repr(cell) in message and column in message


def test_w01_numbers_in_tables_are_decimal(tmp_path):
    assert read_row(tmp_path / "offers.tsv", "offers", lots="010").lots == 10
    assert str(read_row(tmp_path / "e.tsv", "expenses", unit_price="010.50").amount) == "10.50"


def test_w04_a_failed_attempt_keeps_its_files(killed):
    """A pass that fails is a record, not a failed job whose outputs Snakemake deletes."""
    workspace, done = killed
    assert done.returncode == 0, done.stdout + done.stderr
    record = record_of(workspace)
    assert (record["status"], record["phase"]) == ("signal", "measured")
    attempt = workspace.results / "attempts/one-thread/b1/3-1"
    assert {"job.json", "progress.json", "worker.log", "predictions.parquet"} <= {
        path.name for path in attempt.iterdir()
    }
    assert (workspace.results / "predictions/one-thread/b1/3.parquet").exists()
    # And a record is as good as any to Snakemake: nothing is measured again by itself.
    assert workspace.to_run(ADDED) == {}


def test_w06_each_try_keeps_its_log(killed, tmp_path):
    """Asked for retries, Snakemake repeats nothing; another try has a place of its own."""
    first, _ = killed
    assert events(first) == [("started", "one-thread/b1/3/1"), ("finished", "one-thread/b1/3/1")]
    again = first.copy(tmp_path / "again")
    attempts = again.results / "attempts/one-thread/b1"
    kept = {path.name: path.read_bytes() for path in (attempts / "3-1").iterdir()}
    again.snakemake(ADDED, "--forcerun", ADDED)
    assert [number for _, number in events(again)] == [
        *["one-thread/b1/3/1"] * 2,
        *["one-thread/b1/3/2"] * 2,
    ]
    assert (record_of(again)["status"], record_of(again)["attempt_number"]) == ("ok", 2)
    assert {path.name: path.read_bytes() for path in (attempts / "3-1").iterdir()} == kept
    assert (attempts / "3-2" / "worker.log").exists()


def test_w07_reruns_too_many(measured):
    """Comments, spaces, touched files and reordered keys measure nothing again."""
    for name in ("workflow/scripts/measure_pass.py", "workflow/atpar/engine/worker.py"):
        path = measured.folder / name
        path.write_text(path.read_text() + "\n\n# A comment changes no result.\n")
    for name in ("workflow/rules/passes.smk", "config/config.yaml", "config/demo/variants.tsv"):
        path = measured.folder / name
        path.write_text("# A comment.\n" + path.read_text())
    small = yaml.safe_load((measured.folder / "small.yaml").read_text())
    backwards = dict(reversed(small.items()))
    (measured.folder / "small.yaml").write_text(yaml.safe_dump(backwards, sort_keys=False))
    for name in (
        "corpus.csv",
        "model/model.safetensors",
        "results/small/corpus/evaluation.parquet",
    ):
        os.utime(measured.folder / name)
    assert measured.to_run() == {}


def test_w08_reruns_too_few(measured):
    """Another card, driver or library is no file that Snakemake sees; it is measured anew."""
    other_card = "def _processor(root):\n    return 'another card'\n"
    with faults.injected(measured, "atpar.engine.machine", other_card):
        planned = measured.to_run()
    assert (planned["inspect_offer"], planned["measure_pass"]) == (2, 12)
    # The library that computes, in another version: found first, and the only thing of it.
    metadata = measured.folder / "workflow" / "torch-0.0.1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: torch\nVersion: 0.0.1\n")
    assert measured.to_run()["measure_pass"] == 12
    metadata.unlink()
    metadata.parent.rmdir()
    # A touched file forces nothing; the documented way does, for one pass and what follows.
    record = "results/small/passes/one-thread/b1/1.json"
    os.utime(measured.folder / "results/small/model/labels.json")
    assert measured.to_run() == {}
    assert measured.to_run("--forcerun", record)["measure_pass"] == 1


@contextmanager
def running(workspace, *targets):
    """Start snakemake in a session of its own; whatever happens, nothing of it goes on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *targets, "--configfile", "small.yaml"],
        cwd=workspace.folder,
        env=workspace.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(ready, seconds=120):
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_w10_kill_and_resume(finished, tmp_path):
    """Killed in the middle of a pass, then the same command again: one row more, none lost."""
    workspace = added_pass(finished, tmp_path / "work")
    hold = tmp_path / "hold"
    hold.touch()
    progress = workspace.results / "attempts/one-thread/b1/3-1/progress.json"

    def in_the_measured_part():
        return progress.exists() and json.loads(progress.read_text())["phase"] == "measured"

    slow = faults.HELD_PASS.format(hold=str(hold))
    with (
        faults.injected(workspace, "atpar.engine.progress", slow),
        running(workspace, ADDED) as process,
    ):
        wait_for(in_the_measured_part)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    hold.unlink()
    assert not (workspace.folder / ADDED).exists(), "no part of a result under its name"

    done = workspace.snakemake(ADDED, expect=None)
    output = done.stdout + done.stderr
    if "--unlock" in output:
        # Snakemake's own word for a folder that a killed run left locked, as the README says.
        workspace.snakemake(ADDED, "--unlock")
        done = workspace.snakemake(ADDED)
    assert done.returncode == 0, output
    record = record_of(workspace)
    assert (record["status"], record["attempt_number"]) == ("ok", 2)
    assert record["entries_completed"] == record["entries_expected"] == 12
    lines = (workspace.results / "journal/one-thread.jsonl").read_text().splitlines()
    [first] = [
        event["record"]
        for event in map(json.loads, lines)
        if event["event"] == "finished" and event["attempt_id"] == "one-thread/b1/3/1"
    ]
    assert (first["status"], first["phase"]) == ("interrupted", "measured")
    assert first["main_time_s"] is None


def test_w11_spaces_and_quotes_in_paths(workspace, tmp_path):
    """Working folder, model, corpus and tables with whatever a person puts into a name."""
    folder = """it's of "mine", $HOME;*& v1"""
    odd = workspace.copy(tmp_path / folder)
    names = {"model": f"model {folder}", "corpus.csv": f"texts {folder}.csv"}
    for old, new in names.items():
        (odd.folder / old).rename(odd.folder / new)
    offers = odd.folder / f"offers {folder}.tsv"
    (odd.folder / "config/demo/offers.tsv").rename(offers)
    odd.configure(
        corpus={"files": [names["corpus.csv"]]},
        model={"path": names["model"]},
        here="one-thread",
        lock_folder=f"locks {folder}",
        tables={"offers": offers.name},
    )
    record = "results/small/passes/one-thread/b1/1.json"
    odd.snakemake(record)
    assert record_of(odd, record)["status"] == "ok"
    odd.snakemake("export")
    assert (odd.results / "export" / "one-thread.zip").exists()


def test_w12_two_measurements_on_one_device(finished, tmp_path):
    """Neither Snakemake's cores nor a second Snakemake run two passes at once on a device."""
    workspace = added_pass(finished, tmp_path / "work")
    both = [ADDED, ADDED.replace("/b1/", "/b4/")]
    workspace.snakemake(*both, "--cores", "4", "--resources", "gpu=4")
    first, second = sorted((record_of(workspace, path) for path in both), key=started)
    assert first["status"] == second["status"] == "ok"
    assert first["finished_utc"] <= second["started_utc"]
    # Somebody else's process on the device: a row that says so, and no duration.
    [lock] = (workspace.folder / "locks").glob("*.lock")
    third = ADDED.replace("/b1/", "/b8/")
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        workspace.snakemake(third)
    refused = record_of(workspace, third)
    assert refused["status"] == "refused" and "is in use" in refused["reason"]
    assert refused["main_time_s"] is None
    # Intervals that overlap all the same, say of a machine without the lock, are said.
    late = {**second, "started_utc": first["started_utc"]}
    assert overlapping([first, late]) == [
        f"{second['attempt_id']} started before {first['attempt_id']} had ended"
    ]


def started(record):
    return record["started_utc"]


def test_w13_a_missing_result_is_unknown(told):
    """A result that isn't there (yet) is still to do; only an attempt that ended badly failed."""
    rows = {(row["offer"], row["variant"]): row for row in table(told.results / "summary.csv")}
    counts = {
        option: (row["successes"], row["failures"], row["missing_passes"])
        for option, row in rows.items()
    }
    assert counts.pop(("one-thread", "b1")) == ("2", "1", "0")
    assert set(counts.values()) == {("2", "0", "1")}


def test_w13_a_shared_file_system_that_lags(tmp_path, monkeypatch):
    """Files are synced before they are named, and the cluster's profile waits for names."""
    order = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda number: (order.append("sync"), sync(number))[1])
    monkeypatch.setattr(
        Path, "replace", lambda path, to: (order.append("rename"), replace(path, to))[1]
    )
    canonical.write_json(tmp_path / "record.json", {})
    assert order == ["sync", "rename", "sync"], "the file, its name, then the folder"
    profile = Path(__file__).resolve().parents[2] / "profiles/slurm/config.yaml"
    assert yaml.safe_load(profile.read_text())["latency-wait"] >= 30


def test_w14_killed_is_told_everywhere(killed, told):
    """A killed attempt is seen on the screen, in the table, the summary and the report."""
    _, done = killed
    assert "one-thread/b1, repetition 3" in done.stderr and "SIGKILL" in done.stderr
    [row] = [
        row
        for row in table(told.results / "attempts.csv")
        if row["attempt_id"] == "one-thread/b1/3/1"
    ]
    assert (row["status"], row["signal"], row["main_time_s"]) == ("signal", "9", "")
    assert "SIGKILL" in row["reason"]
    [summary] = [
        row
        for row in table(told.results / "summary.csv")
        if (row["offer"], row["variant"]) == ("one-thread", "b1")
    ]
    assert "signal" in summary["failure_kinds"]
    assert "SIGKILL" in (told.results / "report.html").read_text()
