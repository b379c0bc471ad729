"""kill -9 of worker, supervisor or Snakemake at any moment loses no row."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from atpar.engine.parents import is_running
from atpar.journal import journal
from atpar.journal.attempts import read_attempts

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = 46
"""With those of Snakemake, 50 random moments."""
PHASES = ["start", "import", "load", "warm_up", "measured", "write", "done"]
SNAKEMAKE_KILLS = 8


def worker_of(campaign) -> int | None:
    """Return the process id of the worker that runs now, from its progress."""
    files = list((campaign.results / "attempts").glob("*/*/*/progress.json"))
    for path in sorted(files, key=lambda one: one.stat().st_mtime, reverse=True)[:1]:
        process = json.loads(path.read_text())["process"]
        return process if is_running(process) else None
    return None


def wait_until_gone(process: int | None) -> None:
    """The worker dies with its supervisor, at once."""
    deadline = time.monotonic() + 10
    while process is not None and is_running(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process is None or not is_running(process), "an orphan goes on computing"


def wait_for_phase(campaign, phase: str) -> int:
    """Wait until the worker is in this phase and return its process id."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for path in (campaign.results / "attempts").glob("*/*/*/progress.json"):
            state = json.loads(path.read_text())
            if state["phase"] == phase and is_running(state["process"]):
                return state["process"]
        time.sleep(0.01)
    pytest.fail(f"the worker never came to phase {phase}")


def wait_until_in(campaign, phase: str) -> None:
    """Wait until the attempt that was started last is in this phase, or further."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        files = list((campaign.results / "attempts").glob("*/*/*/progress.json"))
        states = [json.loads(path.read_text()) for path in files]
        alive = [state for state in states if is_running(state["process"])]
        if any(PHASES.index(state["phase"]) >= PHASES.index(phase) for state in alive):
            return
        time.sleep(0.01)
    pytest.fail(f"the worker never came to phase {phase}")


def check_journal(campaign, last: dict) -> list[dict]:
    """Every attempt has a start and one end, in order, with what it completed kept."""
    events = journal.read(campaign.journal)
    started = [event["attempt_id"] for event in events if event["event"] == "started"]
    finished = [event["attempt_id"] for event in events if event["event"] == "finished"]
    assert len(set(started)) == len(started)
    assert sorted(started) == sorted(finished)
    rows = read_attempts(campaign.journal)
    assert rows[-1] == last
    assert [row["attempt_number"] for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        assert row["status"] in {"ok", "interrupted", "signal"}, row
        assert (row["main_time_s"] is None) == (row["status"] != "ok")
        if row["predictions_path"] is not None:
            predictions = pq.read_table(campaign.folder / row["predictions_path"])
            assert predictions.num_rows == row["entries_completed"]
    return rows


@pytest.mark.slow
def test_random_kills_of_worker_and_supervisor(campaign, supervise, inject):
    """Seeded moments spread over all phases; a slowed span gives each phase its share."""
    inject("atpar.engine.span", SLOW_SPAN)
    inject("atpar.engine.results", SLOW_WRITE)
    draw = random.Random(20261130)
    killed = {"worker": 0, "supervisor": 0}
    for _ in range(KILLS):
        process = supervise()
        wait_until_in(campaign, draw.choice(PHASES[:6]))
        time.sleep(draw.uniform(0, 0.6))
        victim = draw.choice(sorted(killed))
        worker = worker_of(campaign)
        if victim == "worker" and worker is not None:
            subprocess.run(["kill", "-9", str(worker)], check=False)
            assert process.wait(30) == 0, "a killed worker is a row, not a failed job"
        else:
            victim = "supervisor"
            process.kill()
            process.wait()
            wait_until_gone(worker)
        killed[victim] += 1
    assert min(killed.values()) >= KILLS // 5, killed
    inject.clear()
    record = campaign.measure()
    assert record["status"] == "ok"
    assert campaign.predictions().num_rows == campaign.entries
    rows = check_journal(campaign, record)
    phases = {row["phase"] for row in rows if row["status"] != "ok"}
    assert {"import", "load", "measured", "write"} <= phases, phases
    assert any(row["entries_completed"] for row in rows[:-1]), "partial predictions are kept"


SLOW_SPAN = """
_upload = Span._upload

def _slow(self, *batch):
    time.sleep(0.15)
    return _upload(self, *batch)

Span._upload = _slow
"""

SLOW_WRITE = """
import sys, time
_write = write_predictions

def write_predictions(*arguments):
    if sys.argv[0].endswith("worker.py"):  # Not where a supervisor salvages.
        time.sleep(1)
    return _write(*arguments)
"""

SLOW_SALVAGE = """
import time
_head = read_head

def read_head(*arguments):
    time.sleep(1)
    return _head(*arguments)
"""

SLOW = """
_upload = Span._upload

def _slow(self, *batch):
    time.sleep(2)
    return _upload(self, *batch)

Span._upload = _slow
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_supervisor_ends_its_worker_and_records_it(campaign, supervise, inject, number):
    inject("atpar.engine.span", SLOW)
    process = supervise()
    worker = wait_for_phase(campaign, "measured")
    process.send_signal(number)
    assert process.wait(20) != 0, "the pass is still to be measured"
    wait_until_gone(worker)
    (row,) = read_attempts(campaign.journal)
    assert (row["status"], row["phase"]) == ("interrupted", "measured")
    assert row["entries_expected"] == campaign.entries
    assert signal.Signals(number).name in row["reason"]
    assert not campaign.one_pass().record.exists()
    inject.clear()
    assert campaign.measure()["attempt_number"] == 2


def test_asked_twice_a_supervisor_still_records_the_end(campaign, supervise, inject):
    inject("atpar.engine.span", SLOW)
    inject("atpar.engine.salvage", SLOW_SALVAGE)
    process = supervise()
    wait_for_phase(campaign, "measured")
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    assert process.wait(20) != 0
    finished = [one for one in journal.read(campaign.journal) if one["event"] == "finished"]
    assert [one["record"]["status"] for one in finished] == ["interrupted"]


def test_nohup_outlives_its_terminal(campaign, supervise, inject):
    inject("atpar.engine.span", SLOW_SPAN)
    process = supervise(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_phase(campaign, "measured")
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 0
    assert [row["status"] for row in read_attempts(campaign.journal)] == ["ok"]


def test_a_screen_that_is_gone_ends_no_pass(campaign, supervise, inject):
    inject("atpar.engine.span", SLOW_SPAN)
    inject("atpar.engine.launch", "LINE_EVERY_S = 0.1")
    process = supervise()
    wait_for_phase(campaign, "load")
    process.stderr.close()
    assert process.wait(60) == 0, "nor does Python's own end fail"
    assert [row["status"] for row in read_attempts(campaign.journal)] == ["ok"]
    assert campaign.one_pass().record.exists()


def test_scores_of_before_the_machine_stopped_are_no_predictions(campaign, supervise, inject):
    inject("atpar.engine.span", SLOW_SPAN)
    process = supervise()
    worker = wait_for_phase(campaign, "measured")
    time.sleep(0.5)
    process.kill()
    process.wait()
    wait_until_gone(worker)
    (path,) = (campaign.results / "attempts").glob("*/*/*/progress.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"boot": "an earlier one"}))
    inject.clear()
    assert campaign.measure()["status"] == "ok"
    row, _ = read_attempts(campaign.journal)
    assert (row["status"], row["entries_completed"]) == ("interrupted", 0)


def test_a_killed_supervisor_is_recorded_by_the_next(campaign, supervise, inject):
    inject("atpar.engine.span", SLOW)
    process = supervise()
    worker = wait_for_phase(campaign, "measured")
    process.kill()
    process.wait()
    wait_until_gone(worker)
    (row,) = read_attempts(campaign.journal)
    assert (row["status"], row["finished_utc"]) == ("interrupted", None), "as the view shows it"
    inject.clear()
    record = campaign.measure(variant="b8", batch_size=8)
    rows = read_attempts(campaign.journal)
    assert [one["status"] for one in rows] == ["interrupted", "ok"]
    assert rows[1] == record
    assert rows[0]["phase"] == "measured"
    assert rows[0]["finished_utc"] is not None
    assert rows[0]["wall_time_s"] > 0


def test_a_second_supervisor_keeps_out_while_the_first_lives(campaign, supervise, inject):
    inject("atpar.engine.span", SLOW)
    first = supervise()
    wait_for_phase(campaign, "measured")
    inject.clear()
    record = campaign.measure(variant="b8", batch_size=8)
    assert record["status"] == "refused"
    assert "in use" in record["reason"]
    first.kill()
    first.wait()
    assert campaign.measure(variant="b8", batch_size=8)["status"] == "ok"


SNAKEFILE = """
import json

SETTINGS = json.dumps(json.load(open("settings.json")), sort_keys=True)
R = "results/tiny"

rule measure_pass:
    input:
        corpus=f"{{R}}/corpus/evaluation.parquet",
        corpus_fingerprint=f"{{R}}/corpus/fingerprint.json",
        tokenizer=f"{{R}}/model/tokenizer.json",
        tokenizer_settings=f"{{R}}/model/tokenizer_settings.json",
        fingerprint=f"{{R}}/model/fingerprint.json",
        labels=f"{{R}}/model/labels.json",
        seal=f"{{R}}/protocol/seal.json",
        environment=f"{{R}}/offers/here/environment.json",
    output:
        record=f"{{R}}/passes/here/b4/{{{{repetition}}}}.json",
        predictions=f"{{R}}/predictions/here/b4/{{{{repetition}}}}.parquet",
    log:
        "logs/{{repetition}}.txt",
    params:
        settings=SETTINGS,
    resources:
        gpu=1,
        place='{{"rank": 0, "round": 1, "position": 0}}',
    script:
        "{repository}/workflow/scripts/measure_pass.py"
"""


def snakemake(campaign) -> list[str]:
    """Write a workflow of one pass and return the command that runs it."""
    (campaign.folder / "Snakefile").write_text(SNAKEFILE.format(repository=REPOSITORY))
    (campaign.folder / "settings.json").write_text(json.dumps(campaign.settings()))
    return [
        *(sys.executable, "-m", "snakemake", "--cores", "1", "--directory", str(campaign.folder)),
        *("--snakefile", str(campaign.folder / "Snakefile"), "--rerun-incomplete", "--nolock"),
        "results/tiny/passes/here/b4/1.json",
    ]


def test_snakemake_that_is_asked_to_end_ends_after_the_pass(campaign, inject, heeding):
    command = snakemake(campaign)
    inject("atpar.engine.span", SLOW_SPAN)
    process = subprocess.Popen(
        command,
        cwd=campaign.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=heeding,
    )
    wait_for_phase(campaign, "measured")
    process.terminate()
    process.wait(60)
    assert [row["status"] for row in read_attempts(campaign.journal)] == ["ok"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_snakemake_that_is_stopped_loses_no_row(campaign, inject, heeding, number):
    command = snakemake(campaign)
    inject("atpar.engine.span", SLOW_SPAN)
    draw = random.Random(number)
    for _ in range(SNAKEMAKE_KILLS // 2):
        process = subprocess.Popen(
            command,
            cwd=campaign.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=heeding,
        )
        worker = wait_for_phase(campaign, draw.choice(["import", "load", "measured"]))
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # As a terminal does on Ctrl-C.
        else:
            process.kill()
        process.wait(60)
        wait_until_gone(worker)
    inject.clear()
    subprocess.run(command, cwd=campaign.folder, check=True, capture_output=True)
    rows = check_journal(campaign, json.loads(campaign.one_pass().record.read_text()))
    assert [row["status"] for row in rows] == ["interrupted"] * (SNAKEMAKE_KILLS // 2) + ["ok"]
    assert len({row["session_id"] for row in rows}) == len(rows), "one session for each Snakemake"
    shutil.rmtree(campaign.folder / ".snakemake")
