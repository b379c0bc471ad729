"""The same on a GPU: boundaries, memory scopes, identity, precisions. Skipped without one."""

import time

import numpy as np
import pytest

from atpar.engine.clocks import WITHIN

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU on this machine"),
]


def scores_of(campaign, variant):
    """Return a variant's scores."""
    return np.array(campaign.predictions(variant).column("scores").to_pylist())


def test_the_record_names_the_gpu_and_its_memory(gpu_campaign):
    record = gpu_campaign.measure("plain")
    assert record["device"]["kind"] in ("cuda", "rocm")
    assert record["overlapping_phases"] == list(WITHIN)
    assert record["phases_s"]["transfer"] is None
    assert 0 < record["phases_s"]["inference"] <= record["device_time_s"]
    assert record["device_time_s"] <= record["main_time_s"]
    memory = record["memory"]
    allocated = memory["peak_device_allocated_measured_bytes"]
    assert memory["parameter_bytes"] <= allocated
    assert memory["parameter_bytes"] <= memory["peak_device_allocated_warm_up_bytes"]
    assert allocated <= memory["peak_device_reserved_measured_bytes"]
    assert memory["device_used_by_process_bytes"] != 0, "not told is None, never zero"


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "fp32"},
        {"precision": "tf32"},
        {"precision": "bf16"},
        {"precision": "fp16"},
        {"order": "length"},
        {"compile": "default", "shapes": "dynamic"},
        {"compile": "reduce-overhead", "shapes": "static"},
        {"compile": "max-autotune", "shapes": "static"},
    ],
    ids=str,
)
def test_variants_run_on_the_gpu(gpu_campaign, options):
    record = gpu_campaign.measure("other", **options)
    assert record["status"] == "ok", record
    tolerance = 1e-4 if options.get("precision", "fp32") == "fp32" else 0.1
    difference = np.abs(scores_of(gpu_campaign, "other") - scores_of(gpu_campaign, "plain"))
    assert difference.max() < tolerance


def test_bf16_that_a_gpu_emulates_is_noted(gpu_campaign):
    record = gpu_campaign.measure("bf16", precision="bf16")
    assert record["status"] == "ok", record
    noted = any("bf16 is emulated" in note for note in record["notes"])
    capability = torch.cuda.get_device_capability()
    assert noted == (torch.version.hip is None and capability < (8, 0))


@pytest.mark.parametrize(("shapes", "largest"), [("static", 40), ("dynamic", 4)])
def test_graphs_are_counted(gpu_campaign, shapes, largest):
    record = gpu_campaign.measure("graphs", compile="default", shapes=shapes, batch_size=1)
    if record["status"] == "error":  # More lengths than the compiler takes graphs of.
        assert "recompil" in record["reason"]
        return
    assert record["status"] == "ok", record
    counted = record["graphs_compiled"] + record["recompilations_measured"]
    assert 1 <= counted <= largest
    within = [note for note in record["notes"] if "within the measured span" in note]
    assert bool(within) == bool(record["recompilations_measured"])


def test_clocks_heat_and_throttling_are_recorded(gpu_campaign):
    record = gpu_campaign.measure("plain")
    conditions = record["conditions"]
    for state in (*conditions["cards_before"], *conditions["cards_after"]):
        for name in ("sm_clock_mhz", "temperature_c", "throttle_reasons"):
            assert state[name] is not None or name in state["reasons"]
    noted = [note for note in record["notes"] if note.startswith("throttled: ")]
    assert noted == [f"throttled: {', '.join(conditions['throttled'])}"] * bool(noted)
    assert bool(noted) == bool(conditions["throttled"])


def test_a_slice_is_recorded_as_cuda_sees_it(gpu_campaign):
    import json

    environment = json.loads((gpu_campaign.results / "offers/here/environment.json").read_text())
    device = environment["device"]
    if not device["uuid"].startswith("MIG-"):
        pytest.skip("the GPU isn't in MIG mode")
    assert " MIG " in device["name"]
    assert device["memory_bytes"] < torch.cuda.get_device_properties(0).total_memory * 1.1
    record = gpu_campaign.measure("plain")
    assert record["device"]["uuid"] == device["uuid"]


def test_int8_does_not_fall_back_to_the_cpu(gpu_campaign):
    record = gpu_campaign.measure("int8", quantization="int8-dynamic")
    assert record["status"] == "refused"
    assert "no kernels for GPUs" in record["reason"]


LITTLE_MEMORY = """
_run = Span.run
_spans = []

def _limited(self, windows):
    import torch
    _spans.append(self)
    if len(_spans) > 1:  # The first one is the warm-up.
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved(0) / total)
        self._taken = torch.empty(2**30, dtype=torch.uint8, device="cuda")
    return _run(self, windows)

Span.run = _limited
"""


def test_a_device_that_runs_out_of_memory_says_so(gpu_campaign, inject):
    inject("atpar.engine.span", LITTLE_MEMORY)
    record = gpu_campaign.measure("large", batch_size=40, padding="max_length")
    assert record["status"] == "out_of_memory", record["reason"]
    assert record["phase"] == "measured"
    inject.clear()
    assert gpu_campaign.measure("plain")["status"] == "ok", "the next pass is clean"


def test_the_clock_waits_for_the_device():
    from atpar.engine.devices import CudaDevice

    device = CudaDevice(0)
    large = torch.randn(8192, 8192, device=device.target)
    device.synchronise()
    start, before = time.perf_counter(), device.mark()
    for _ in range(20):
        large = large @ large.T.clamp(-1e-4, 1e-4)
    launched = time.perf_counter() - start
    after = device.mark()
    device.synchronise()
    elapsed = time.perf_counter() - start
    assert launched < 0.5 * elapsed, "launching returns before the work is done"
    assert device.between(before, after) == pytest.approx(elapsed, rel=0.3)


def test_the_uuid_is_the_drivers(gpu_campaign):
    import json

    environment = json.loads((gpu_campaign.results / "offers/here/environment.json").read_text())
    assert environment["device"]["uuid"].startswith(("GPU-", "MIG-"))
    assert environment["driver"]


def test_an_index_beyond_a_table_is_a_device_error_and_the_next_pass_is_healthy(
    gpu_campaign, tmp_path
):
    from atpar.canonical import read_json, write_json

    campaign = type(gpu_campaign)(tmp_path, device="cuda").build()
    limits = {"fingerprint.json": "usable_length", "tokenizer_settings.json": "model_max_length"}
    for name, key in limits.items():
        path = campaign.results / "model" / name
        write_json(path, {**read_json(path), key: 500})
    campaign.texts = lambda entries: ["plum " * 100] * entries
    campaign.write_corpus(2)
    failed = campaign.measure()
    assert failed["status"] == "error", failed
    assert "not out of memory" in failed["reason"]
    assert campaign.measure(max_length=campaign.positions)["status"] == "ok"


def test_what_is_in_effect_is_recorded(gpu_campaign):
    for precision, expected in (("fp32", "highest"), ("tf32", "high")):
        record = gpu_campaign.measure("arithmetic", precision=precision)
        assert record["in_effect"]["float32_matmul_precision"] == expected, record
    assert record["in_effect"]["cudnn_allow_tf32"] is True


def test_the_idle_check_sees_another_process_on_the_device(gpu_campaign, tmp_path):
    campaign = type(gpu_campaign)(tmp_path, device="cuda").build()
    campaign.protocol["busy_device"] = "refuse"
    taken = torch.ones(2**20, device="cuda")
    record = campaign.measure("busy")
    del taken
    assert (record["status"], record["phase"]) == ("refused", "load"), record
    assert "isn't known to be idle" in record["reason"]
