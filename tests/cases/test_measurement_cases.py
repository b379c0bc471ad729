"""Clocks, devices, memory and repetitions: M01 to M23 of the table in README.md."""

import csv
import functools
import queue
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from atpar.canonical import read_json, write_json
from atpar.engine.batching import Grouping, Padding
from atpar.engine.clocks import Phases, WallAndMonotonic
from atpar.engine.conditions import Conditions
from atpar.engine.corpus import spread_over_lengths, windows
from atpar.engine.cpus import usable_cpus
from atpar.engine.devices import CpuDevice, CudaDevice, counted, open_device
from atpar.engine.gpu_state import gpu_state, in_use, occupancy
from atpar.engine.gpus import nvidia_devices
from atpar.engine.identify import Card, fault
from atpar.engine.nvml import visible_devices
from atpar.engine.outcome import oom_kill_count, outcome_of_exception, outcome_of_exit
from atpar.engine.refused import Refused
from atpar.engine.span import Plan, Span
from atpar.engine.tokens import Encoded
from atpar.journal.attempts import read_attempts
from stand_ins import ArrayDevice


class Queued(CpuDevice):
    """A device that takes work and returns at once; a thread does it, in order."""

    asynchronous = True

    def __init__(self):
        super().__init__("queued")
        self.work = queue.Queue()
        threading.Thread(target=self._do, daemon=True).start()

    def _do(self):
        while True:
            self.work.get()()
            self.work.task_done()

    def upload(self, staged):
        return staged

    def mark(self):
        passed = []
        self.work.put(lambda: passed.append(time.perf_counter()))
        return passed

    def between(self, start, stop):
        return stop[0] - start[0]

    def synchronise(self):
        self.work.join()

    def download(self, tensors):
        return lambda: (self.work.join(), [one.copy() for one in tensors])[1]


def one_token_a_word(texts):
    return Encoded([np.arange(1, 1 + len(text.split())) for text in texts], None, 0)


def two_scores(ids, _mask, _types):
    return np.zeros((len(ids), 2), np.float32)


def span_over(device, classify=two_scores, grouping=None, **more):
    """Return a span of one-entry batches unless it is said otherwise."""
    plan = Plan(grouping or Grouping(1), Padding(0))
    return Span(
        plan, one_token_a_word, classify, device, lambda *_: None, lambda _: None, Phases(), **more
    )


def windows_of(texts):
    return [(np.arange(len(texts)), texts)]


def test_m01_the_clock_stops_when_the_work_is_done_not_when_it_is_launched():
    device, batches, each = Queued(), 10, 0.03

    def launch(ids, _mask, _types):
        result = np.full((len(ids), 2), np.nan, np.float32)
        device.work.put(lambda: (time.sleep(each), result.fill(0.5)))
        return result

    device.work.put(lambda: time.sleep(0.3))  # Earlier work, which isn't the span's.
    start = time.perf_counter()
    work = span_over(device, launch).run(windows_of(["a b"] * batches))
    elapsed = time.perf_counter() - start
    assert batches * each <= work.main_time_s <= elapsed - 0.25
    assert work.entries == batches
    assert "inference" in work.overlapping, "stages of a queue aren't timed as if one by one"


def peak(record):
    return record["memory"]["peak_host_rss_measured_bytes"]


GREEDY = """
_run = Span.run

def _greedy(self, windows):
    self.kept = bytearray(400 * 2**20)
    raise MemoryError("no more")

Span.run = _greedy
"""


def test_m03_memory_of_a_failed_variant_is_not_in_the_next_ones_peak(built_campaign, plain, inject):
    inject("atpar.engine.span", GREEDY)
    failed = built_campaign.measure("greedy")
    inject.clear()
    assert failed["status"] == "out_of_memory", failed
    after = built_campaign.measure("plain", repetition=2)
    assert after["status"] == "ok", after
    assert peak(after) == pytest.approx(peak(plain), rel=0.2)


def test_m05_an_index_beyond_a_table_is_an_error_and_the_next_pass_is_healthy(campaign):
    asserted = outcome_of_exception(RuntimeError("CUDA error: device-side assert triggered"))
    assert asserted.status == "error"
    assert "not out of memory" in asserted.reason and "position" in asserted.reason
    limits = {
        "model/fingerprint.json": "usable_length",
        "model/tokenizer_settings.json": "model_max_length",
    }
    for name, key in limits.items():
        path = campaign.results / name
        write_json(path, {**read_json(path), key: 500})
    campaign.texts = lambda entries: ["plum " * 100] * entries
    campaign.write_corpus(2)
    failed = campaign.measure()
    assert (failed["status"], failed["entries_completed"]) == ("error", 0), failed
    healthy = campaign.measure(max_length=campaign.positions)
    assert (healthy["status"], healthy["attempt_number"]) == ("ok", 2), healthy
    assert [row["status"] for row in read_attempts(campaign.journal)] == ["error", "ok"]


class OutOfMemoryError(RuntimeError):
    """As torch names its own."""


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OutOfMemoryError("Tried to allocate 2.00 GiB"), "out_of_memory"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"), "out_of_memory"),
        (RuntimeError("HIP out of memory. Tried to allocate 20.00 MiB"), "out_of_memory"),
        (RuntimeError("NVML_ERROR_MEMORY: insufficient memory"), "out_of_memory"),
        (caused(RuntimeError("run_func_() failed"), OutOfMemoryError("CUDA")), "out_of_memory"),
        (RuntimeError("run_func_(): CUDA_ERROR_OUT_OF_MEMORY"), "out_of_memory"),
        (ValueError("a batch of 3 entries out of 8"), "error"),
        (RuntimeError("cannot allocate memory in static TLS block"), "error"),
    ],
    ids=str,
)
def test_m06_every_spelling_of_a_lack_of_memory_has_its_class(error, status):
    outcome = outcome_of_exception(error)
    assert outcome.status == status
    assert str(error) in outcome.reason, "the raw text stays"


@pytest.mark.parametrize("command", ["kill -9 $$", "exit 137"])
def test_m08_a_kill_is_no_proof_of_a_lack_of_memory(command, tmp_path):
    code = subprocess.run(["bash", "-c", command], check=False).returncode
    assert code == {"kill -9 $$": -9, "exit 137": 137}[command]
    for kills in (0, None):
        outcome = outcome_of_exit(code, kills, ["computing"])
        assert outcome.status == "signal"
        assert "SIGKILL" in outcome.reason and "no evidence" in outcome.reason
    (tmp_path / "memory.events").write_text("oom 1\noom_kill 1\n")
    grown = oom_kill_count([tmp_path])
    evidence = outcome_of_exit(code, grown, [])
    assert evidence.status == "out_of_memory" and "host" in evidence.reason


def rows(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_m09_three_memories_stay_three(recorded):
    memory = {
        "peak_device_allocated_measured_bytes": 1_001,
        "peak_device_reserved_measured_bytes": 2_003,
        "device_used_by_process_bytes": 4_007,
    }
    done = recorded()
    done.add_option("b1", [10.0], memory=memory)
    done.judge()
    done.tabulate()
    [attempt] = rows(done.path("attempts.csv"))
    assert {name: attempt[name] for name in memory} == {k: str(v) for k, v in memory.items()}
    [summary] = rows(done.path("summary.csv"))
    assert summary["peak_memory_bytes"] == "2003", "what must fit is the allocator's pool"
    assert "the allocator's pool on the device" in summary["peak_memory_counter"]
    assert not {"3004", "5008", "6010", "7011"} & {*attempt.values(), *summary.values()}


def part_with(device, parameter_bytes):
    """Return a part of a pass on this device whose model has so many bytes."""
    from atpar.engine.part import Part

    part = Part.__new__(Part)
    part.device, part.classifier = device, SimpleNamespace(parameter_bytes=parameter_bytes)
    part.memory, part.memory_reasons, part._reset = {}, {}, True
    part.variant = {"device_map": None}
    return part


class Forgetful(CpuDevice):
    """A GPU whose counter forgot the bytes that live on it."""

    kind = "cuda"

    def __init__(self, value):
        super().__init__("forgetful")
        self.value = value

    def peaks(self, scope):
        return {f"peak_device_allocated_{scope}_bytes": self.value}, {}


def test_m10_a_peak_below_the_parameters_is_rejected_and_scopes_are_two(plain):
    for value, expected in ((6_000_000, None), (31_000_000, 31_000_000)):
        part = part_with(Forgetful(value), 30_000_000)
        part.remember_peaks()
        assert part.memory["peak_device_allocated_measured_bytes"] == expected
        told = part.memory_reasons.get("peak_device_allocated_measured_bytes", "")
        assert ("less than the 30000000 bytes" in told) == (expected is None)
    assert counted(({"peak": None}, {"peak": "why"}), 5) == ({"peak": None}, {"peak": "why"})
    host = {name for name in plain["memory"] if name.startswith("peak_host")}
    assert host == {"peak_host_rss_start_up_bytes", "peak_host_rss_measured_bytes"}


@pytest.fixture
def compiler(monkeypatch):
    """torch's compiler without its code generation, fresh and with its own settings back after."""
    import torch
    from torch._dynamo import config, reset
    from torch._dynamo.utils import counters

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    kept = ("recompile_limit", "accumulated_recompile_limit", "fail_on_recompile_limit_hit")
    before = {name: getattr(config, name) for name in kept}
    reset()
    counters.clear()
    yield torch
    for name, value in before.items():
        setattr(config, name, value)
    reset()
    counters.clear()


@pytest.mark.parametrize(("shapes", "expected"), [("static", 12), ("dynamic", 1), ("auto", 2)])
def test_m12_graphs_compiled_for_12_lengths_are_counted(compiler, shapes, expected):
    from atpar.engine.compiled import compiled, graphs

    module = compiled(compiler.nn.ReLU(), "default", shapes)
    for length in range(3, 15):
        module(compiler.ones(2, length))
    assert graphs() == expected


def test_m12_graphs_within_the_span_and_a_limit_that_is_hit_are_told(compiler):
    from atpar.engine.compiled import compiled
    from atpar.engine.worker import _tell_compiled

    attempt = SimpleNamespace(
        part=SimpleNamespace(classifier=SimpleNamespace(graphs=12, notes=[])), notes=[], facts={}
    )
    _tell_compiled(attempt, before=9)
    assert attempt.facts == {"graphs_compiled": 9, "recompilations_measured": 3}
    assert attempt.notes == ["3 graphs were compiled within the measured span"]

    module = compiled(compiler.nn.ReLU(), "default", "static")
    compiler._dynamo.config.recompile_limit = 3
    with pytest.raises(Exception, match="recompile_limit"):
        for length in range(3, 15):
            module(compiler.ones(2, length))


class Nvml:
    """NVIDIA's library over cards that are written down; what isn't there isn't supported."""

    class NVMLError(Exception):
        """As the library's own."""

    def __init__(self, *cards):
        self.cards = cards

    def nvmlInit(self):
        """Nothing to start."""

    nvmlShutdown = nvmlInit

    def nvmlDeviceGetCount(self):
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index):
        return self.cards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid):
        named = [one for card in self.cards for one in (card, *card.get("slices", []))]
        return next(one for one in named if one["uuid"] == uuid.decode())

    def nvmlDeviceGetMaxMigDeviceCount(self, card):
        return 1 + len(card["slices"])

    def nvmlDeviceGetMigDeviceHandleByIndex(self, card, index):
        # The first place is free, as it is on a card whose first slice was taken apart.
        if index == 0:
            raise self.NVMLError("Not Found")
        return card["slices"][index - 1]

    def __getattr__(self, question):
        if question.startswith("NVML_"):
            return 0

        def answer(card=None, *_):
            if question not in (card or {}):
                raise self.NVMLError("Not Supported")
            return card[question]

        return answer


@pytest.fixture
def nvml(monkeypatch):
    """Return a function that puts cards behind the library; each a mapping question -> answer."""

    def put(*cards):
        monkeypatch.setitem(sys.modules, "pynvml", Nvml(*cards))

    return put


def card(uuid, **answers):
    return {
        "uuid": uuid,
        "nvmlDeviceGetName": "NVIDIA A100-SXM4-40GB",
        "nvmlDeviceGetUUID": uuid,
        "nvmlDeviceGetMigMode": (0, 0),
        "nvmlDeviceGetComputeRunningProcesses": [],
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=0, memory=0),
        **answers,
    }


def test_m13_heat_is_told_for_all_repetitions_and_none_is_dropped(recorded, nvml):
    nvml(card("GPU-1", nvmlDeviceGetCurrentClocksThrottleReasons=0x40 | 0x01))
    conditions = Conditions()
    conditions.start([{"kind": "cuda", "uuid": "GPU-1"}])
    assert conditions.stop(1.0)["throttled"] == ["heat (hardware)"]
    nvml(card("GPU-1", nvmlDeviceGetCurrentClocksThrottleReasons=0x01))
    assert conditions.stop(1.0)["throttled"] == [], "an idle card isn't a throttled one"

    done = recorded()
    done.add_option("b1", [10.0, 10.1, 10.2, 10.3, 10.4], notes=["throttled: heat (hardware)"])
    _, text = done.decide()
    assert "clocks were lowered in all 5 attempts" in text
    [summary] = rows(done.path("summary.csv"))
    assert summary["durations_s"].count(";") == 4 and summary["excluded"] == "0"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("GPU-74ed1a1c-0000-0000-0000-000000000000", ["GPU-74ed1a1c-0000-0000-0000-000000000000"]),
        ("MIG-6a0f4c4e-0000,1", ["MIG-6a0f4c4e-0000", 1]),
        ("1,0", [1, 0]),
        ("0,no,1", [0]),
        ("", []),
    ],
)
def test_m14_visible_devices_are_no_integers_alone(value, expected):
    assert visible_devices({"CUDA_VISIBLE_DEVICES": value}) == expected


def test_m14_a_card_is_known_by_its_uuid_whatever_its_index(monkeypatch, nvml):
    from atpar.engine.backends import check_device
    from atpar.engine.job import worker_environment

    nvml(card("GPU-one"), card("GPU-two"))
    for value, expected in (("1", ["GPU-two"]), ("GPU-one", ["GPU-one"]), ("1,0", None)):
        monkeypatch.setattr(
            "atpar.engine.gpus.visible_devices", lambda v=value: visible_devices(
                {"CUDA_VISIBLE_DEVICES": v}
            ),
        )  # fmt: skip
        found = [one["uuid"] for one in nvidia_devices()[0]]
        assert found == (expected or ["GPU-two", "GPU-one"])
    assert worker_environment(1, True)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    other = SimpleNamespace(kind="cuda", name="a GPU", uuid="GPU-one")
    with pytest.raises(Refused, match=r"GPU-one.*GPU-two"):
        check_device(other, {"kind": "cuda", "name": "a GPU", "uuid": "GPU-two"}, "environment")


def test_m15_a_slice_is_what_is_recorded_and_what_it_does_not_tell_is_unknown(nvml, monkeypatch):
    slices = [
        card(f"MIG-{n}", nvmlDeviceGetName="NVIDIA A100-SXM4-40GB MIG 1g.5gb") for n in (1, 2)
    ]
    for one in slices:
        for question in ("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMigMode"):
            del one[question]
    busy = [SimpleNamespace(pid=1)]
    whole = card(
        "GPU-1", nvmlDeviceGetMigMode=(1, 1), nvmlDeviceGetComputeRunningProcesses=busy,
        slices=slices,
    )  # fmt: skip
    nvml(whole)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    [device], _ = nvidia_devices()
    assert (device["uuid"], device["name"]) == ("MIG-1", "NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    assert device["mig"] is None and "Not Supported" in device["reasons"]["mig"]
    [found] = occupancy([device])
    assert found["utilisation"] is None, "not told is no 0 %"
    assert in_use(found)[0] is False, "the processes of the other slices aren't this one's"
    assert gpu_state("cuda", "MIG-1")["power_w"] is None
    assert "A100-SXM4-40GB MIG" in fault(Card("o", "a100"), [device])
    assert fault(Card("o", "a100 mig 1g.5gb"), [device]) is None


def attempt_beside(folder, rule, kind):
    """Return an attempt under a rule of `protocol.busy_device`, on the one device of a machine."""
    environment = folder / "environment.json"
    write_json(environment, {"device": {"count": 1}})
    job = SimpleNamespace(
        protocol={"busy_device": rule},
        inputs=SimpleNamespace(environment=environment),
        cards_of=lambda count: count,
    )
    part = SimpleNamespace(device=SimpleNamespace(kind=kind))
    return SimpleNamespace(job=job, part=part, notes=[])


FEW_MIB = SimpleNamespace(used=2 * 2**20)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"nvmlDeviceGetMemoryInfo": FEW_MIB}, False),
        ({"nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=7)]}, True),
        ({"nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37)}, True),
        ({"nvmlDeviceGetComputeRunningProcesses": None}, None),
        ({"nvmlDeviceGetUtilizationRates": None}, None),
    ],
    ids=["2 MiB, no process", "a process at 0 %", "37 %, no process", "[N/A]", "[N/A] %"],
)
def test_m16_idle_is_what_is_known_to_be_idle(nvml, answers, expected, tmp_path):
    from atpar.engine.worker import _look_around

    kept = {name: value for name, value in card("GPU-1", **answers).items() if value is not None}
    nvml(kept)
    device = {"kind": "cuda", "uuid": "GPU-1"}
    assert in_use(occupancy([device])[0])[0] is expected
    conditions = Conditions()
    conditions.look_at_devices([device], wait=lambda _: None)
    for rule in ("refuse", "note"):
        attempt = attempt_beside(tmp_path, rule, "cuda")
        if rule == "refuse" and expected is not False:
            with pytest.raises(Refused, match="isn't known to be idle"):
                _look_around(attempt, conditions)
            continue
        _look_around(attempt, conditions)
        assert len(attempt.notes) == (expected is not False)
        assert any("busy device: " in note for note in attempt.notes) == (expected is True)


@pytest.mark.parametrize("rule", ["refuse", "note"])
def test_m16_cpus_of_which_nothing_is_told_are_not_known_to_be_idle(monkeypatch, rule, tmp_path):
    from atpar.engine.worker import _look_around

    monkeypatch.setattr("atpar.engine.conditions.cpu_times", lambda *_, **__: None)
    attempt = attempt_beside(tmp_path, rule, "cpu")
    if rule == "refuse":
        with pytest.raises(Refused, match="isn't known"):
            _look_around(attempt, Conditions())
    else:
        _look_around(attempt, Conditions())
        assert ["isn't known" in note for note in attempt.notes] == [True]
    device = attempt.part.device
    assert Conditions(others_at_start_up=0.1).busy(device)[0] is False
    assert Conditions(others_at_start_up=3.0).busy(device)[0] is True


def test_m16_utilisation_that_a_pass_before_left_behind_fades(monkeypatch):
    levels = iter([80, 40, 0])

    def fading(_):
        return [{"kind": "cuda", "uuid": "GPU-1", "processes": [], "utilisation": next(levels)}]

    monkeypatch.setattr("atpar.engine.conditions.occupancy", fading)
    conditions = Conditions()
    conditions.look_at_devices([{}], wait=lambda _: None)
    assert conditions.busy(SimpleNamespace(kind="cuda")) == (False, None)


def test_m17_hip_decides_and_nothing_of_nvidia_is_asked(monkeypatch):
    import torch

    from atpar.engine import environment
    from atpar.engine.torch_build import TorchBuild, parse_version_file

    text = "__version__ = '2.13.0'\ncuda = None\nhip = '6.3'\n"
    build = parse_version_file(text)
    assert build == TorchBuild("2.13.0", None, "6.3")
    monkeypatch.setattr(environment, "rocm_devices", lambda: (["an AMD GPU"], ""))
    monkeypatch.setattr(environment, "nvidia_devices", lambda: 1 / 0)
    assert environment._gpus(build) == (["an AMD GPU"], "")

    properties = SimpleNamespace(name="AMD Instinct MI300X", uuid="abcd")
    monkeypatch.setattr(torch.version, "hip", "6.3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    device = open_device("cuda", "a CPU")
    assert isinstance(device, CudaDevice) and device.kind == "rocm"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpu_state("rocm", device.uuid)["reasons"]
    error = torch.OutOfMemoryError("HIP out of memory. Tried to allocate 20.00 MiB")
    assert outcome_of_exception(error).status == "out_of_memory"


def test_m18_clocks_that_disagree_flag_the_attempt(recorded):
    from atpar.engine.outcome import Outcome
    from atpar.engine.record import finished_record

    def ticking(*seconds):
        times = iter(seconds)
        last = [0.0]

        def read():
            last[0] = next(times, last[0])
            return last[0]

        return read

    clock = WallAndMonotonic(ticking(0, 10), ticking(1000, 4610), ticking(0, 10))
    done = recorded()
    started = done.record("card", "b1", 1, clock_disagreement_s=None)
    record = finished_record(started, Outcome("ok"), {"main_time_s": 9.0}, {}, clock)
    assert record["wall_time_s"] == 10, "durations are the monotonic clock's"
    assert record["clock_disagreement_s"] == pytest.approx(3600)
    assert any("clocks disagree by 3600.0 s" in note for note in record["notes"])
    done.add_option("b1", [10.0], clock_disagreement_s=record["clock_disagreement_s"])
    assert "disagree by more than 1 s over 1 attempt" in done.decide()[1]


@pytest.mark.parametrize(
    ("quota", "cores", "expected"),
    [("200000 100000", 96, 2), ("max 100000", 96, 96), ("200000 100000", 1, 1)],
)
def test_m19_a_containers_quota_bounds_the_cpus(tmp_path, quota, cores, expected):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "cgroup/cpu.max").write_text(quota)
    assert usable_cpus(cores, tmp_path / "cgroup", tmp_path / "proc") == expected


def test_m19_threads_are_set_and_recorded(plain):
    assert plain["threads_used"] == plain["in_effect"]["threads"] == 1
    assert plain["in_effect"]["interop_threads"] == 1


def test_m20_reading_is_timed_apart_and_every_pass_finds_the_corpus_read(campaign, monkeypatch):
    import pyarrow.parquet as pq

    def spent(first_read_s):
        now = [0.0]

        def reading():
            for number in range(3):
                now[0] += first_read_s if number == 0 else 0.1
                yield np.array([number]), ["a b"]

        def classify(ids, _mask, _types):
            now[0] += 1.0
            return two_scores(ids, None, None)

        span = span_over(ArrayDevice(), classify, clock=lambda: now[0])
        span.phases.clock = span.clock
        work = span.run(reading())
        return work.main_time_s, span.phases.seconds

    for first, expected in ((5.0, 5.2), (0.1, 0.3)):
        total, phases = spent(first)
        assert phases["read"] == pytest.approx(expected)
        assert total - phases["read"] == pytest.approx(3.0)

    opened = []
    real = pq.ParquetFile.iter_batches

    def seen(self, *arguments, **more):
        for batch in real(self, *arguments, **more):
            opened.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", seen)
    corpus = campaign.results / "corpus/evaluation.parquet"
    assert spread_over_lengths(corpus, 0) == []
    assert sum(opened) == campaign.entries, "without a warm-up the first pass would pay the disk"


@pytest.mark.parametrize("order", [("b1", "b8"), ("b8", "b1")], ids="-".join)
def test_m20_the_variant_that_meets_a_cold_disk_is_not_the_loser(
    campaign, recorded, monkeypatch, order
):
    import pyarrow.parquet as pq

    now, cached = [0.0], set()
    real = pq.ParquetFile.iter_batches

    def from_the_disk_once(self, *arguments, **more):
        for batch in real(self, *arguments, **more):
            now[0] += 0.1 if cached else 5.0
            yield batch
        cached.add("the corpus")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", from_the_disk_once)
    corpus = campaign.results / "corpus/evaluation.parquet"

    def duration(seconds):
        spread_over_lengths(corpus, 4)  # A pass warms up before its clock starts.

        def classify(ids, _mask, _types):
            now[0] += seconds
            return two_scores(ids, None, None)

        whole = Grouping(campaign.entries)
        span = span_over(ArrayDevice(), classify, grouping=whole, clock=lambda: now[0])
        span.phases.clock = span.clock
        return span.run(windows(corpus, None)).main_time_s

    done = recorded()
    for repetition in range(1, 6):
        for variant in order:
            seconds = {"b1": 10.0, "b8": 9.0}[variant] + repetition / 100
            done.add_pass(variant, repetition, main_time_s=duration(seconds))
    decision, _ = done.decide()
    found = {
        row["variant"]: row["durations_s"].split(";") for row in rows(done.path("summary.csv"))
    }
    assert float(found["b1"][0]) == pytest.approx(10.11)
    assert float(found["b8"][0]) == pytest.approx(9.11)
    assert (decision.outcome, decision.choice.variant) == ("chosen", "b8")


def test_m22_two_modes_are_shown_not_hidden_by_the_median(recorded):
    done = recorded()
    done.add_option("b1", [10.0, 10.1, 10.2, 19.5, 20.1])
    done.add_pass("b1", 6, status="error", reason="broke", entries_completed=3)
    _, text = done.decide()
    [row] = rows(done.path("summary.csv"))
    assert [float(one) for one in row["durations_s"].split(";")] == [10.0, 10.1, 10.2, 19.5, 20.1]
    assert [float(row[name]) for name in ("median_s", "min_s", "max_s")] == [10.2, 10.0, 20.1]
    assert (row["successes"], row["failures"]) == ("5", "1")
    assert "durations of b1 on card are unstable: the longest is 2 times the shortest" in text


def test_m23_an_outlier_pads_its_batch_and_that_is_counted():
    texts = ["one"] * 500 + ["word " * 500] + ["one"] * 499
    real = 500 + 999
    for grouping, padded in (
        (Grouping(64), 64 * 500 + 936),
        (Grouping(64, order="length"), 64 * 500 + 936),
        (Grouping(None, 512, "length"), real),
    ):
        work = span_over(ArrayDevice(), grouping=grouping).run(windows_of(texts))
        assert (work.tokens_real, work.tokens_padded) == (real, padded)
    mixed = ["one", "word " * 500] * 50
    for order, padded in (("corpus", 50_000), ("length", 25_050)):
        work = span_over(ArrayDevice(), grouping=Grouping(10, order=order)).run(windows_of(mixed))
        assert (work.tokens_real, work.tokens_padded) == (25_050, padded)


@pytest.mark.parametrize("longest_first", [True, False])
def test_m23_a_forecast_is_no_extrapolation_of_a_prefix(longest_first):
    from atpar.calendar.forecast import Load, Observation, forecast, stretches

    lengths = np.sort(np.random.default_rng(3).integers(1, 400, 1024))
    lengths = lengths[::-1] if longest_first else lengths
    seconds = np.cumsum(0.001 + 0.0002 * lengths)
    ends = np.arange(16, 1025, 16)
    marks = [[int(e), int(lengths[:e].sum()), float(seconds[e - 1])] for e in ends]
    whole = Observation("p", 1024, int(lengths.sum()), float(seconds[-1]))
    guess = forecast(stretches(whole, marks), Load(10_240, 10 * int(lengths.sum())))
    assert guess.seconds == pytest.approx(10 * seconds[-1], rel=0.01)
    prefix = 10_240 * seconds[127] / 128
    assert abs(prefix / guess.seconds - 1) > 0.5, "what the first eighth would have promised"
    longer = forecast(stretches(whole, marks), Load(1000, 900_000))
    assert longer.extrapolates
