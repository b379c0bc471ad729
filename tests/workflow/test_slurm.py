"""A campaign through a real Slurm: each pass on its offer's GPU type; what Slurm ends is a row."""

import importlib.util
import json
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest


def _beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


slurm, plugins = _beside("slurm"), _beside("plugins")
carrying, faults = _beside("carrying"), _beside("injected")

OFFERS = """\
offer	provider	gpu	billing	device	partition	gres	constraint	node	threads	network
x	this-machine	one-thread	hourly	cpu	main	gpu:rtx4090:1		one	1	it's 10 Gbit/s
y	this-machine	two-threads	hourly	cpu		gpu:b200:2	blackwell		2	1 Gbit/s
z	this-machine	one-thread	hourly	cpu	main	gpu:b200:1		two	1	1 Gbit/s
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
    """A campaign of three offers with one pass each, corpus and seal ready."""
    (workspace.folder / "offers.tsv").write_text(OFFERS)
    (workspace.folder / "variants.tsv").write_text(VARIANTS)
    workspace.configure(
        lock_folder="locks",
        # Long enough for what the cluster is asked to end before the pass ends itself.
        protocol={"repetitions": 1, "pass_timeout_s": 600},
        tables={"offers": "offers.tsv", "variants": "variants.tsv"},
    )
    workspace.snakemake("seal", "results/small/model/labels.json")
    return workspace


class Submitted:
    """The campaign's passes, sent to a cluster; passes wait in their measured part on `hold`."""

    def __init__(self, campaign, cluster, python, hold):
        self.campaign, self.cluster, self.hold = campaign, cluster, hold
        self.command = [python, "-m", "snakemake", "passes", *PROFILE, "--configfile", "small.yaml"]
        self.environment = {**campaign.environment(), **cluster.environment}
        self.log = campaign.folder / "slurm.log"

    @contextmanager
    def run(self, expect):
        """Run snakemake beside the test, and see it end with this exit status."""
        with self.log.open("w") as log:
            running = subprocess.Popen(
                self.command,
                cwd=self.campaign.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                # As in a terminal: whoever runs the tests in the background has it ignored.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            try:
                yield running
                assert running.wait(300) == expect, self.log.read_text()
            finally:
                running.kill()

    def wait_for(self, ready):
        """Wait until something is so, while snakemake goes on."""
        deadline = time.monotonic() + 300
        while not ready():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def attempts(self, offer):
        """Return the events of an offer's journal."""
        path = self.campaign.results / "journal" / f"{offer}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def job(self, offer, number):
        """Wait until an attempt is in its measured part, and return its Slurm job and node."""
        folder = self.campaign.results / "attempts" / offer / "b1" / f"1-{number}"

        def measured():
            path = folder / "progress.json"
            return path.exists() and json.loads(path.read_text())["phase"] == "measured"

        self.wait_for(measured)
        [note] = self.attempts(offer)[-1]["record"]["notes"]
        assert note.startswith("Slurm job ")
        return note.split()[2], note.split()[-1]

    def wait_for_state(self, job, state):
        self.wait_for(lambda: self.cluster.jobs()[job]["JobState"] == state)


@pytest.fixture
def submitted(cluster, python, campaign, tmp_path):
    """The campaign, ready to be sent, with passes that can be held."""
    hold = tmp_path / "hold"
    slow = faults.HELD_PASS.format(hold=str(hold))
    with faults.injected(campaign, "atpar.engine.progress", slow):
        yield Submitted(campaign, cluster, python, hold)


def test_a_campaign_on_slurm(submitted, cluster, tmp_path):
    """A node that vanishes, a preempted and a timed-out job: rows; in the end, one decision."""
    campaign = submitted.campaign
    submitted.hold.touch()
    with submitted.run(expect=1) as snakemake:
        lost, node = submitted.job("x", 1)
        assert node == "one"
        cluster.lose("one", lost)
        submitted.wait_for_state(lost, "NODE_FAIL")
        # Snakemake goes on with the next offer.
        preempted, node = submitted.job("y", 1)
        assert node == "two"
        urgent = ("--partition=urgent", "--nodelist=two", "--exclusive", "--output=/dev/null")
        cluster.run("sbatch", *urgent, "--wrap", "sleep 1")
        submitted.wait_for_state(preempted, "PREEMPTED")
        # The plugin would wait for ever for this job to be resumed.
        snakemake.send_signal(signal.SIGINT)
    submitted.hold.unlink()
    assert not list(campaign.results.glob("passes/*/*/*.json"))
    cluster.bring_back("one")

    with submitted.run(expect=1):
        submitted.wait_for((campaign.results / "passes" / "x" / "b1" / "1.json").exists)
        submitted.hold.touch()
        late, _ = submitted.job("y", 2)
        # Slurm counts in minutes; the job has had some of its first one when this is said.
        cluster.run("scontrol", "update", f"jobid={late}", "timelimit=1")
        submitted.wait_for_state(late, "TIMEOUT")
        submitted.hold.unlink()
    # The rest went on: the third offer was measured.
    assert not (campaign.results / "passes" / "y" / "b1" / "1.json").exists()
    assert (campaign.results / "passes" / "z" / "b1" / "1.json").exists()
    with submitted.run(expect=0):
        pass

    environment = json.loads((campaign.results / "offers" / "x" / "environment.json").read_text())
    assert environment["network"] == "it's 10 Gbit/s"
    check_rows(submitted, {"x": [lost], "y": [preempted, late], "z": []})
    check_jobs(cluster)
    check_decision(campaign, tmp_path)


def check_rows(submitted, ended):
    """Every attempt has its start and its end; what Slurm ended names its job."""
    first = []
    for offer, jobs in ended.items():
        events = submitted.attempts(offer)
        assert [event["event"] for event in events] == ["started", "finished"] * (len(jobs) + 1)
        *interrupted, measured = [event["record"] for event in events[1::2]]
        assert (measured["status"], measured["attempt_number"]) == ("ok", len(jobs) + 1)
        for job, record in zip(jobs, interrupted, strict=True):
            assert (record["status"], record["phase"]) == ("interrupted", "measured")
            assert record["main_time_s"] is None
            assert any(note.startswith(f"Slurm job {job} ") for note in record["notes"])
        first.append(events[0]["record"])
    # One run of Snakemake is one session, however many jobs it sent away, in the planned order.
    assert first[0]["session_id"] == first[1]["session_id"] != first[2]["session_id"]
    assert [record["planned_rank"] for record in first] == [0, 1, 2]
    assert sorted(first, key=lambda record: record["started_utc"]) == first


def check_jobs(cluster):
    """What was asked of Slurm is what the offers say, and nothing else was sent to it."""
    jobs = [fields for fields in cluster.jobs().values() if fields["Partition"] != "urgent"]
    on = {fields["TresPerNode"]: fields for fields in jobs}
    assert on["gres:gpu:rtx4090:1"]["NodeList"] == "one"
    assert on["gres:gpu:b200:2"]["NodeList"] == on["gres:gpu:b200:1"]["NodeList"] == "two"
    assert on["gres:gpu:b200:2"]["Features"] == "blackwell"
    assert {fields["OverSubscribe"] for fields in jobs} == {"NO"}
    # Three looks at machines, six attempts; everything else ran where Snakemake runs.
    assert len(jobs) == 9
    # A pass is planned for 15 s: three times that as a margin, and ten minutes beside it.
    [lost] = [fields for fields in jobs if fields["JobState"] == "NODE_FAIL"]
    assert lost["TimeLimit"] == "00:11:00"


def check_decision(campaign, tmp_path):
    """The decision of one checkout, and of three shares on a machine that measured none."""
    assert "measure_pass" not in campaign.to_run()
    campaign.snakemake("results/small/decision.json", "results/small/balance.csv")
    expected = carrying.balance(campaign)
    assert len(expected["attempts"]) == 6
    laptop = carrying.laptop(campaign, tmp_path / "laptop")
    for offer in "xyz":
        node = campaign.copy(tmp_path / offer)
        node.configure(here=offer)
        node.snakemake("export")
        carrying.hand_in(node.results / "export" / f"{offer}.zip", laptop)
    laptop.snakemake("results/small/decision.json", "results/small/balance.csv")
    found = carrying.balance(laptop)
    for part, value in expected.items():
        assert found[part] == value, part
