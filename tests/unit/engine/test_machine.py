"""What is read from the machine: CPUs, clocks, devices, locks, parents."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from atpar.config.offers import Offer
from atpar.engine import environment as environments
from atpar.engine.clocks import Phases, WallAndMonotonic
from atpar.engine.conditions import Conditions, disturbances
from atpar.engine.cpus import (
    CpuTimes,
    cgroup_folders,
    cpu_quota,
    cpu_times,
    usable_cpus,
    used_by_others,
)
from atpar.engine.devices import counted, open_device
from atpar.engine.gpu_state import occupancy
from atpar.engine.gpus import rocm_devices, rocm_visible
from atpar.engine.lock import DeviceInUse, lock_device
from atpar.engine.machine import machine_digest
from atpar.engine.nvml import visible_devices
from atpar.engine.parents import is_running, session_id, snakemake_above
from atpar.engine.torch_build import TorchBuild, parse_version_file
from atpar.engine.worker import take_devices
from atpar.errors import AtparError


def fake_groups(tmp_path, line, **files):
    """Return (cgroup, proc) folders with one process in a group and these files in it."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(line + "\n")
    for name, text in files.items():
        path = tmp_path / "cgroup" / name.replace("__", "/").replace("_max", ".max")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "cgroup", tmp_path / "proc"


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("200000 100000", 2), ("150000 100000", 1), ("50000 100000", 1), ("max 100000", 96)],
)
def test_a_quota_bounds_the_cpus(tmp_path, quota, expected):
    groups = fake_groups(tmp_path, "0::/pod", pod__cpu_max=quota)
    assert usable_cpus(96, *groups) == expected


def test_the_tightest_quota_on_the_way_up_counts(tmp_path):
    groups = fake_groups(
        tmp_path, "0::/a/b", a__cpu_max="300000 100000", a__b__cpu_max="800000 100000"
    )
    assert cpu_quota(*groups) == 3


def test_version_1_groups_are_read_too(tmp_path):
    cgroup, proc = fake_groups(tmp_path, "4:cpu,cpuacct:/pod")
    folder = cgroup / "cpu" / "pod"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text("400000")
    (folder / "cpu.cfs_period_us").write_text("100000")
    assert usable_cpus(96, cgroup, proc) == 4
    (folder / "cpu.cfs_quota_us").write_text("-1")
    assert usable_cpus(96, cgroup, proc) == 96


def test_a_container_without_its_own_path_still_sees_the_root(tmp_path):
    cgroup, proc = fake_groups(tmp_path, "0::/../../elsewhere", cpu_max="200000 100000")
    assert cgroup in cgroup_folders(cgroup, proc)
    assert usable_cpus(8, cgroup, proc) == 2


def test_affinity_bounds_the_cpus(tmp_path):
    assert usable_cpus(3, tmp_path, tmp_path) == 3


def test_what_others_use_is_the_machine_less_this_process():
    start = CpuTimes(machine_s=100.0, own_s=10.0, at_s=0.0)
    stop = CpuTimes(machine_s=116.0, own_s=25.0, at_s=10.0)
    assert used_by_others(start, stop) == pytest.approx(0.1)
    assert used_by_others(start, CpuTimes(101, 12, 10)) == 0
    assert used_by_others(start, CpuTimes(101, 10, 0.1)) is None, "too short to tell"
    assert used_by_others(None, stop) is None


def test_what_the_host_takes_is_noted(tmp_path, monkeypatch):
    (tmp_path / "stat").write_text("cpu  900 0 100 5000 0 0 0 700 0 0\n")
    ticks = os.sysconf("SC_CLK_TCK")
    assert cpu_times(1.0, tmp_path).stolen_s == 700 / ticks
    robbed = iter([CpuTimes(0, 0, 0.0, 1.0), CpuTimes(0, 0, 10.0, 5.0)])
    monkeypatch.setattr("atpar.engine.conditions.cpu_times", lambda *_, **__: next(robbed))
    conditions = Conditions(start_up=None)
    conditions.start([])
    found = conditions.stop(10.0)
    assert (found["cpus_stolen"], found["cpus_used_by_others"]) == (0.4, 0.0)
    [note] = disturbances(found)
    assert note.startswith("busy device: the host gave 0.40 of this machine's CPUs")
    assert disturbances({**found, "cpus_stolen": 0.05}) == []


def test_the_members_of_a_crew_are_no_others(tmp_path):
    (tmp_path / "stat").write_text("cpu  900 0 100 5000 0 0 0 0 0 0\n")
    (tmp_path / "77").mkdir()
    (tmp_path / "77/stat").write_text(f"77 (a (b) c) S {'0 ' * 10}40000 3000 200 10 20 0\n")
    ticks = os.sysconf("SC_CLK_TCK")
    alone, together = cpu_times(1.0, tmp_path), cpu_times(1.0, tmp_path, [77, 78])
    assert together.machine_s == 1000 / ticks
    assert together.own_s - alone.own_s == pytest.approx(43_210 / ticks, abs=1)
    assert cpu_times(1.0, tmp_path / "none", [77]) is None


def test_conditions_count_the_crew_as_this_pass(monkeypatch):
    def busy_members(at_s, members=()):
        return CpuTimes(machine_s=3 * at_s, own_s=(1 + len(members)) * at_s, at_s=at_s)

    monkeypatch.setattr("atpar.engine.conditions.cpu_times", busy_members)
    for members, others in (((), 2.0), ([7, 8], 0.0)):
        conditions = Conditions(members=members)
        conditions.start([])
        time.sleep(0.25)
        assert conditions.stop(0.25)["cpus_used_by_others"] == pytest.approx(others, abs=0.01)


def test_a_start_up_too_short_to_tell_is_waited_for():
    conditions = Conditions()
    conditions.before()
    assert conditions.others_at_start_up is not None


def test_a_wall_clock_that_jumps_is_seen():
    monotonic, wall, boot = iter([5.0, 15.0]), iter([1000.0, 4610.0]), iter([5.0, 15.0])
    clock = WallAndMonotonic(lambda: next(monotonic), lambda: next(wall), lambda: next(boot))
    assert clock.disagreement_s() == pytest.approx(3600)


def test_a_suspended_machine_is_seen():
    monotonic, wall, boot = iter([5.0, 15.0]), iter([1000.0, 1070.0]), iter([5.0, 75.0])
    clock = WallAndMonotonic(lambda: next(monotonic), lambda: next(wall), lambda: next(boot))
    assert clock.disagreement_s() == pytest.approx(60)


def test_a_phase_left_by_an_exception_has_no_duration():
    phases = Phases()
    with pytest.raises(KeyError), phases.timed("load"):
        raise KeyError
    seconds, reasons = phases.record()
    assert seconds["load"] is None
    assert "ended before" in reasons["load"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("0,2", [0, 2]),
        ("GPU-74ed0000-0000-0000-0000-000000000000", ["GPU-74ed0000-0000-0000-0000-000000000000"]),
        ("MIG-6a0f4c4e-1,0", ["MIG-6a0f4c4e-1", 0]),
        ("1,-1,0", [1]),
        ("", []),
    ],
)
def test_visible_devices_may_be_uuids(value, expected):
    found = visible_devices({} if value is None else {"CUDA_VISIBLE_DEVICES": value})
    assert found == expected


def test_hip_decides_what_torch_was_built_for():
    text = "__version__ = '2.13.0+rocm6.3'\ncuda: str | None = None\nhip: str | None = '6.3.1'\n"
    assert parse_version_file(text) == TorchBuild("2.13.0+rocm6.3", None, "6.3.1")


def test_rocm_devices_come_from_the_kernel(tmp_path):
    for node, properties in enumerate(
        [
            "simd_count 0\ncpu_cores_count 8\n",
            "simd_count 416\ngfx_target_version 90402\nunique_id 1234567890123456789\n",
        ]
    ):
        folder = tmp_path / "nodes" / str(node)
        (folder / "mem_banks/0").mkdir(parents=True)
        (folder / "properties").write_text(properties)
        (folder / "name").write_text("aqua_vanjaram\n" if node else "\n")
        (folder / "mem_banks/0/properties").write_text("heap_type 1\nsize_in_bytes 1000\n")
    (device,), _ = rocm_devices(tmp_path / "nodes", tmp_path / "no", tmp_path / "no")
    assert (device["kind"], device["gfx"], device["memory_bytes"]) == ("rocm", "gfx942", 1000)
    assert device["uuid"] == "GPU-112210f47de98115"
    assert device["driver"] is None
    assert "driver" in device["reasons"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "abcd"),
        ({"HIP_VISIBLE_DEVICES": "3,0"}, "da"),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "b"),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "1"}, "c"),
        ({"ROCR_VISIBLE_DEVICES": "GPU-C,GPU-b", "HIP_VISIBLE_DEVICES": "1"}, "b"),
        ({"ROCR_VISIBLE_DEVICES": "2,-1,0"}, "c"),
        ({"HIP_VISIBLE_DEVICES": "9"}, ""),
    ],
)
def test_hip_sees_the_devices_that_its_variables_leave(environment, expected):
    found = rocm_visible([{"uuid": f"GPU-{name}"} for name in "abcd"], environment)
    assert "".join(one["uuid"][-1] for one in found) == expected


def test_cards_without_a_unique_id_have_a_lock_each(tmp_path):
    cards = [{"kind": "rocm", "uuid": None}] * 2
    (tmp_path / "environment.json").write_text(
        json.dumps({"device": {"kind": "rocm", "count": 2, "devices": cards}})
    )
    job = SimpleNamespace(
        inputs=SimpleNamespace(environment=str(tmp_path / "environment.json")),
        lock_folder=str(tmp_path),
        processes=2,
        cards_of=lambda count: count,
    )
    take_devices(job)
    assert {path.name for path in tmp_path.glob("*.lock")} == {"rocm-0.lock", "rocm-1.lock"}


def test_a_process_uses_the_amd_cards_that_it_has_memory_on(tmp_path, monkeypatch):
    for process, used in (("10", "4096"), ("11", "0")):
        (tmp_path / process).mkdir()
        (tmp_path / process / "vram_77").write_text(used)
    monkeypatch.setattr("atpar.engine.gpu_state.KFD_PROCESSES", tmp_path)
    card = {"kind": "rocm", "uuid": "GPU-1"}
    [found] = occupancy([{**card, "gpu_id": "77"}])
    assert found["processes"] == ["process 10"]
    [unknown] = occupancy([card])
    assert unknown["processes"] == ["process 10", "process 11"]


def test_a_machine_without_rocm_says_so(tmp_path):
    devices, reason = rocm_devices(tmp_path / "nodes")
    assert devices == []
    assert "no GPU" in reason


def test_the_environment_tells_every_missing_field_why(tmp_path):
    path = tmp_path / "environment.json"
    environments.inspect_offer({"offer": "here", "device": "cpu"}, path)
    found = json.loads(path.read_text())
    assert found["device"]["kind"] == "cpu"
    assert found["software"]["torch"]
    assert found["cpu"]["usable"] >= 1

    def missing(value, name=""):
        if isinstance(value, dict):
            for key, one in value.items():
                yield from missing(one, f"{name}.{key}".lstrip("."))
        elif value is None:
            yield name

    allowed = set(found["reasons"]) | {"torch_build.cuda", "torch_build.hip"}
    assert set(missing({k: v for k, v in found.items() if k != "reasons"})) <= allowed


def test_the_digest_is_of_what_is_stable(tmp_path):
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for path in paths:
        environments.inspect_offer({"offer": "here", "device": "cpu"}, path)
    first, second = (json.loads(path.read_text()) for path in paths)
    assert first["digest"] == second["digest"]


def test_code_that_finds_the_same_inspects_nothing_again(tmp_path, monkeypatch):
    path, offer = tmp_path / "environment.json", {"offer": "here", "device": "cpu"}
    kept = environments.code_that_inspected
    assert kept(path, offer, "new") == "new", "nothing was inspected yet"
    environments.inspect_offer(offer, path, code="old")
    assert kept(path, offer, "old") == "old"
    assert kept(path, offer, "new") == "old"
    monkeypatch.setattr(environments, "_memory", lambda: (1, None))
    assert kept(path, offer, "new") == "new", "another machine is inspected"
    path.write_text("{")
    assert kept(path, offer, "new") == "new"


def test_an_offer_of_a_gpu_that_is_not_here_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "_gpus", lambda _: ([], "no driver"))
    with pytest.raises(AtparError, match=r"asks for device cuda.*no driver"):
        environments.inspect_offer(
            {"offer": "b200", "device": "cuda"}, tmp_path / "environment.json"
        )
    assert not (tmp_path / "environment.json").exists()


def test_the_machine_has_one_digest_and_another_machine_another(tmp_path):
    assert machine_digest() == machine_digest()
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM 550")
    before = machine_digest(tmp_path)
    (tmp_path / "proc/driver/nvidia/version").write_text("NVRM 580")
    assert machine_digest(tmp_path) != before


def test_a_pass_never_falls_back_from_a_gpu(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="finds no GPU"):
        open_device("cuda", "cpu")
    assert open_device("auto", "some CPU").kind == "cpu"


def test_a_peak_below_the_parameters_is_no_measurement():
    values, reasons = counted(({"peak": 6_000_000, "other": 40_000_000}, {}), 30_000_000)
    assert values == {"peak": None, "other": 40_000_000}
    assert "less than" in reasons["peak"]


HOLD = """
import pathlib, sys, time
from atpar.engine.lock import lock_device
lock_device(pathlib.Path(sys.argv[1]), sys.argv[2], 0)
print("held", flush=True)
time.sleep(60)
"""


def test_a_device_has_one_worker_until_its_holder_dies(tmp_path):
    uuid = "GPU-74ed/0000"
    command = [sys.executable, "-c", HOLD, str(tmp_path), uuid]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(DeviceInUse, match=f"process {holder.pid}"):
            lock_device(tmp_path, uuid, 0.1)
        os.close(lock_device(tmp_path, "another", 0))
        holder.send_signal(signal.SIGKILL)
    os.close(lock_device(tmp_path, uuid, 1))


def test_a_worker_dies_with_its_supervisor():
    child = (
        "import os, sys, time\n"
        "from atpar.engine.parents import die_with_parent\n"
        "die_with_parent(int(sys.argv[1]))\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid())])\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        worker = int(process.stdout.readline())
        assert is_running(worker)
        process.kill()
    deadline = time.monotonic() + 5
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(worker)


def test_snakemake_is_found_above_a_shell(tmp_path):
    for process, parent, command in [
        (os.getpid(), 30, b"python\0.snakemake/scripts/tmp1.measure_pass.py\0"),
        (30, 20, b"bash\0-c\0python .snakemake/scripts/tmp1.measure_pass.py\0"),
        (20, 10, b"/venv/bin/python\0/venv/bin/snakemake\0--cores\x001\0"),
        (10, 1, b"bash\0"),
    ]:
        folder = tmp_path / str(process)
        folder.mkdir()
        (folder / "stat").write_text(f"{process} (a (b) c) S {parent} 0 0")
        (folder / "cmdline").write_bytes(command)
    assert snakemake_above(tmp_path) == 20
    (tmp_path / "20" / "cmdline").write_bytes(b"make\0demo\0")
    assert snakemake_above(tmp_path) is None


def test_a_session_is_named_once():
    assert session_id(None) == session_id(os.getpid())
    assert session_id(os.getppid()) != session_id(os.getpid())


def test_offers_of_this_machine_have_a_device():
    assert Offer(offer="a", provider="p", gpu="g").device == "auto"
