"""A campaign through a real Slurm: each pass on its offer's GPU type; a killed job is a row."""

import importlib.util
import json
import subprocess
import tempfile
import time
from pathlib import Path

import pytest


def _beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


slurm, plugins = _beside("slurm"), _beside("plugins")

OFFERS = """\
offer	provider	gpu	billing	device	partition	gres	constraint	node	threads
x	this-machine	one-thread	hourly	cpu	main	gpu:rtx4090:1		one	1
y	this-machine	two-threads	hourly	cpu		gpu:b200:2	blackwell		2
"""
VARIANTS = "variant	series	precision	batch_size	order\nb1	batch-size	fp32	1	corpus\n"
PROFILE = [
    "--workflow-profile", "profiles/slurm",
    # This cluster keeps no accounts, and is asked often so that the test is quick.
    "--slurm-status-command", "squeue",
    "--slurm-init-seconds-before-status-checks", "1",
    "--seconds-between-status-checks", "1",
    "--latency-wait", "5",
]  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    """A running Slurm with nodes one (rtx4090) and two (b200)."""
    reason = slurm.lacking()
    if reason:
        pytest.skip(reason)
    # The path of a socket may have about a hundred characters; pytest's folders can be longer.
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        running = slurm.Cluster(Path(folder))
        try:
            yield running.start()
        finally:
            running.stop()


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python with the Slurm plugin."""
    return plugins.python_with("requirements-slurm.txt", tmp_path_factory.mktemp("venv") / "slurm")


@pytest.fixture
def campaign(workspace):
    """A campaign of two offers with one pass each, corpus and seal ready."""
    (workspace.folder / "offers.tsv").write_text(OFFERS)
    (workspace.folder / "variants.tsv").write_text(VARIANTS)
    workspace.configure(
        lock_folder="locks",
        protocol={"repetitions": 1},
        tables={"offers": "offers.tsv", "variants": "variants.tsv"},
    )
    workspace.snakemake("seal", "results/small/model/labels.json")
    return workspace


def attempts(workspace, offer):
    """Return the events of an offer's journal."""
    path = workspace.results / "journal" / f"{offer}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def test_a_campaign_on_slurm(cluster, python, campaign):
    command = [python, "-m", "snakemake", "passes", *PROFILE, "--configfile", "small.yaml"]
    environment = {**campaign.environment(), **cluster.environment}
    with (campaign.folder / "first.log").open("w") as log:
        first = subprocess.Popen(
            command, cwd=campaign.folder, env=environment, stdout=log, stderr=log
        )
        deadline = time.monotonic() + 180
        while not attempts(campaign, "x"):
            assert time.monotonic() < deadline, (campaign.folder / "first.log").read_text()
            assert first.poll() is None, (campaign.folder / "first.log").read_text()
            time.sleep(0.05)
        [started] = attempts(campaign, "x")
        [note] = started["record"]["notes"]
        assert note.startswith("Slurm job ") and note.endswith(" on node one")
        # Slurm kills Snakemake, supervisor and worker, one after the other: the supervisor may just
        # see Snakemake gone and write the end, or be gone itself, so that the next job writes it.
        cluster.run("scancel", "--signal=KILL", "--full", note.split()[2])
        assert first.wait(240) == 1
    # The rest went on: the other offer was measured, on the node of its GPU type.
    assert [event["event"] for event in attempts(campaign, "y")] == ["started", "finished"]
    assert attempts(campaign, "y")[1]["record"]["status"] == "ok"
    assert attempts(campaign, "x")[0] == started
    assert not (campaign.results / "passes" / "x" / "b1" / "1.json").exists()

    second = subprocess.run(
        command, cwd=campaign.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert second.returncode == 0, second.stderr[-6000:]
    events = attempts(campaign, "x")
    assert [event["event"] for event in events] == ["started", "finished", "started", "finished"]
    interrupted, measured = events[1]["record"], events[3]["record"]
    assert (interrupted["status"], interrupted["attempt_number"]) == ("interrupted", 1)
    assert note in interrupted["notes"] and interrupted["main_time_s"] is None
    assert (measured["status"], measured["attempt_number"]) == ("ok", 2)
    # Both runs of Snakemake are one session each, however many jobs they sent away.
    assert measured["session_id"] != interrupted["session_id"]
    assert attempts(campaign, "y")[1]["record"]["session_id"] == interrupted["session_id"]

    jobs = [fields for fields in cluster.jobs().values() if "sbatch" not in fields["JobName"]]
    on = {fields["TresPerNode"]: fields for fields in jobs}
    assert on["gres:gpu:rtx4090:1"]["NodeList"] == "one"
    assert on["gres:gpu:b200:2"]["NodeList"] == "two"
    assert on["gres:gpu:b200:2"]["Features"] == "blackwell"
    assert {fields["OverSubscribe"] for fields in jobs} == {"NO"}
    # Two looks at machines, three attempts; everything else ran where Snakemake runs.
    assert len(jobs) == 5
    assert {fields["TimeLimit"] for fields in jobs} == {"00:10:00", "00:11:00"}
