"""A whole pass in a worker of its own, on a tiny real model."""

import json

import numpy as np
import pytest

from atpar.engine.clocks import START_UP, WITHIN
from atpar.engine.job import seed_of
from atpar.journal.attempts import read_attempts


@pytest.fixture(scope="module")
def measured(built_campaign):
    """The record of a plain pass."""
    return built_campaign.measure("plain", batch_size=4)


def test_a_pass_predicts_every_entry_in_corpus_order(built_campaign, measured):
    assert measured["status"] == "ok", measured
    table = built_campaign.predictions("plain")
    assert table.column("id").to_pylist() == [f"e{n:06d}" for n in range(40)]
    assert set(table.column("predicted").to_pylist()) <= {"fruit", "tool"}
    assert json.loads(table.schema.metadata[b"labels"]) == ["fruit", "tool"]
    scores = np.array(table.column("scores").to_pylist())
    assert scores.shape == (40, 2)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_the_record_bounds_and_describes_the_span(measured):
    inside = sum(measured["phases_s"][phase] for phase in WITHIN)
    assert 0 < inside <= measured["main_time_s"]
    assert inside > 0.8 * measured["main_time_s"], "most of the span belongs to a phase"
    outside = sum(measured["phases_s"][phase] or 0 for phase in START_UP)
    assert measured["main_time_s"] + outside <= measured["wall_time_s"]
    assert measured["phases_s"]["compile"] is None
    assert "compiles nothing" in measured["phase_reasons"]["compile"]
    assert measured["entries_completed"] == measured["entries_expected"] == 40
    assert measured["tokens_real"] < measured["tokens_padded"]
    assert measured["seed"] == 0
    assert measured["in_effect"]["deterministic_algorithms"] is True
    assert measured["attention_used"] == "sdpa"
    assert measured["dtype_used"] == "float32"
    assert measured["threads_used"] == 1
    assert measured["device"]["kind"] == "cpu"
    assert measured["memory"]["peak_device_allocated_measured_bytes"] is None
    assert "CPU" in measured["memory_reasons"]["peak_device_allocated_measured_bytes"]
    assert measured["memory"]["peak_host_rss_measured_bytes"] > 50e6


def test_the_journal_has_its_start_and_end(built_campaign, measured):
    rows = [row for row in read_attempts(built_campaign.journal) if row["variant"] == "plain"]
    assert rows[-1] == measured


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 1},
        {"batch_size": 7, "order": "length"},
        {"batch_size": 4, "padding": "max_length"},
        {"batch_size": 4, "attention": "eager"},
        {"batch_size": 7, "padding": "none"},
        {"batch_size": None, "token_budget": 200, "padding": "none", "order": "length"},
    ],
    ids=str,
)
def test_other_ways_of_running_give_the_same_scores(built_campaign, measured, options):
    record = built_campaign.measure("other", **options)
    assert record["status"] == "ok", record
    expected = np.array(built_campaign.predictions("plain").column("scores").to_pylist())
    table = built_campaign.predictions("other")
    np.testing.assert_allclose(np.array(table.column("scores").to_pylist()), expected, atol=1e-5)
    assert table.column("id").to_pylist() == [f"e{n:06d}" for n in range(40)]
    assert record["tokens_real"] == measured["tokens_real"]
    if options["batch_size"] == 1 or options.get("padding") == "none":
        assert record["tokens_padded"] == record["tokens_real"]
    if options.get("padding") == "max_length":
        assert record["tokens_padded"] == 40 * built_campaign.positions
    packed = options.get("padding") == "none"
    asked = "sdpa within packed entries" if packed else options.get("attention", "sdpa")
    assert record["attention_used"] == asked


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({"precision": "bf16"}, "bfloat16"),
        ({"precision": "fp16"}, "float16"),
        ({"precision": "bf16", "padding": "none", "seed": 7}, "bfloat16"),
    ],
    ids=str,
)
def test_half_precisions_compute_in_their_type(built_campaign, options, dtype):
    record = built_campaign.measure("half", **options)
    assert (record["status"], record["dtype_used"]) == ("ok", dtype)
    assert record["seed"] == options.get("seed", 0)
    expected = np.array(built_campaign.predictions("plain").column("scores").to_pylist())
    scores = np.array(built_campaign.predictions("half").column("scores").to_pylist())
    assert 1e-6 < np.abs(scores - expected).max() < 0.2


def test_logits_beyond_fp16_are_no_class(campaign):
    """Weights whose products fp32 holds and fp16 doesn't: the pass ends, and nothing is claimed."""
    campaign.write_model(initializer_range=500.0)
    campaign.fingerprint()
    assert campaign.measure("whole")["status"] == "ok"
    assert campaign.predictions("whole").column("predicted").null_count == 0
    record = campaign.measure("half", precision="fp16")
    assert (record["status"], record["dtype_used"]) == ("ok", "float16")
    assert any(
        "40 entries have a logit that is NaN or infinite" in note for note in record["notes"]
    )
    table = campaign.predictions("half")
    assert table.column("predicted").null_count == table.num_rows == 40
    assert np.isnan(np.array(table.column("scores").to_pylist())).all()


def test_truncated_entries_are_counted(built_campaign, measured):
    record = built_campaign.measure("short", max_length=8)
    words = [len(text.split()) for text in built_campaign.texts(40)]
    assert record["entries_truncated"] == sum(number > 6 for number in words)
    assert measured["entries_truncated"] == 0
    assert record["tokens_real"] == sum(min(number + 2, 8) for number in words)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": None, "token_budget": 100, "order": "length"},
        {"order": "length", "window": 10},
        {"padding": "multiple_of", "pad_multiple": 16},
        {"pad_side": "left"},
    ],
    ids=str,
)
def test_other_batches_give_the_same_labels(built_campaign, options):
    record = built_campaign.measure("batches", **options)
    assert record["status"] == "ok", record
    same = built_campaign.predictions("plain").column("id")
    assert built_campaign.predictions("batches").column("id") == same
    if "pad_side" not in options:  # BERT's positions count from the left, padding included.
        assert_close(built_campaign, "batches", 1e-5)


def assert_close(campaign, variant, tolerance):
    """The scores are those of the plain pass, within a tolerance."""
    expected = np.array(campaign.predictions("plain").column("scores").to_pylist())
    scores = np.array(campaign.predictions(variant).column("scores").to_pylist())
    np.testing.assert_allclose(scores, expected, atol=tolerance)


def test_the_side_of_truncation_decides_what_is_read(built_campaign):
    for side in ("right", "left"):
        assert built_campaign.measure(side, max_length=6, truncation_side=side)["status"] == "ok"
    right, left = (built_campaign.predictions(side).column("scores") for side in ("right", "left"))
    assert right != left


@pytest.mark.usefixtures("measured")
def test_int8_says_its_method(built_campaign):
    record = built_campaign.measure("int8", quantization="int8-dynamic")
    assert record["status"] == "ok", record
    assert record["dtype_used"] == "float32+int8"
    assert any("quantize_dynamic" in note for note in record["notes"])
    plain, int8 = (
        np.array(built_campaign.predictions(name).column("scores").to_pylist())
        for name in ("plain", "int8")
    )
    assert 1e-4 < np.abs(plain - int8).mean() < 0.2


@pytest.mark.parametrize(
    ("quantization", "precision", "method", "bounds"),
    [
        ("int8-weight-only", "fp32", "Int8WeightOnlyConfig", (1e-6, 0.1)),
        ("int8-weight-only", "bf16", "Int8WeightOnlyConfig", (1e-6, 0.2)),
        ("int8-dynamic-torchao", "fp32", "Int8DynamicActivationInt8WeightConfig", (1e-6, 0.2)),
    ],
)
def test_torchao_quantizes(built_campaign, measured, quantization, precision, method, bounds):
    pytest.importorskip("torchao", reason="torchao isn't installed (requirements-torchao.txt)")
    record = built_campaign.measure("ao", quantization=quantization, precision=precision)
    assert record["status"] == "ok", record
    kind = {"fp32": "float32", "bf16": "bfloat16"}[precision]
    assert record["dtype_used"] == f"{kind}+int8"
    assert any(method in note for note in record["notes"])
    assert record["software"]["torchao"]
    assert record["memory"]["parameter_bytes"] < 0.8 * measured["memory"]["parameter_bytes"]
    difference = np.abs(scores_of(built_campaign, "ao") - scores_of(built_campaign, "plain"))
    assert bounds[0] < difference.mean() < bounds[1]


def scores_of(campaign, variant):
    """Return a variant's scores."""
    return np.array(campaign.predictions(variant).column("scores").to_pylist())


@pytest.mark.usefixtures("measured")
def test_a_compiled_pass_counts_its_graphs(built_campaign):
    record = built_campaign.measure("compiled", compile="default", shapes="dynamic")
    assert record["status"] == "ok", record
    assert record["phases_s"]["compile"] > record["phases_s"]["warm_up"]
    assert record["graphs_compiled"] >= 1
    assert record["recompilations_measured"] is not None
    if record["recompilations_measured"]:
        assert any("within the measured span" in note for note in record["notes"])
    assert_close(built_campaign, "compiled", 1e-4)


@pytest.fixture(scope="module")
def exported(built_campaign):
    """The model exported for onnxruntime; skipped where the optional packages are absent."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    from atpar.engine.export import export_onnx

    results = built_campaign.results
    return export_onnx(
        results / "model/fingerprint.json",
        results / "model/tokenizer_settings.json",
        results / "model/onnx/model.onnx",
        results / "model/onnx/export.json",
    )


@pytest.mark.usefixtures("measured")
def test_an_exported_model_gives_the_same_scores(built_campaign, exported):
    assert exported["largest_logit_difference"] < 1e-4
    record = built_campaign.measure("onnx", backend="onnxruntime")
    assert record["status"] == "ok", record
    assert record["attention_used"] == "onnxruntime"
    assert set(record["software"]) == {"onnxruntime", "tokenizers", "numpy", "pyarrow"}
    assert_close(built_campaign, "onnx", 1e-5)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"precision": "tf32"}, "NVIDIA"),
        ({"precision": "bf16", "attention": "flash"}, "no kernels for the CPU"),
        ({"precision": "bf16", "quantization": "int8-bitsandbytes"}, "is for GPUs"),
        ({"device_map": "auto"}, "over several GPUs"),
    ],
)
def test_what_a_cpu_cannot_run_is_refused_before_anything_is_computed(
    built_campaign, options, part
):
    record = built_campaign.measure("refused", **options)
    assert (record["status"], record["phase"]) == ("refused", "start")
    assert part in record["reason"]
    assert built_campaign.predictions("refused").num_rows == 0


def test_a_seed_of_the_variant_stands_before_the_protocols():
    assert seed_of({"seed": 5}, {"seed": 1, "seeds": [2, 3]}, 1) == 5
    assert seed_of({"seed": None}, {"seed": 1, "seeds": None}, 4) == 1
    shared = [seed_of({"seed": None}, {"seed": 1, "seeds": [2, 3]}, one) for one in range(1, 6)]
    assert shared == [2, 3, 2, 3, 2]


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("backend", ["torch", "onnxruntime"])
def test_processes_share_a_pass(built_campaign, backend, monkeypatch, request):
    if backend == "onnxruntime":
        request.getfixturevalue("exported")
    options = {"processes": 2, "order": "length", "backend": backend}
    settings = built_campaign.settings

    def two_threads(*arguments, **more):
        found = settings(*arguments, **more)
        return {**found, "offer": {**found["offer"], "threads": 2}}

    monkeypatch.setattr(built_campaign, "settings", two_threads)
    record = built_campaign.measure("shared", **options)
    assert record["status"] == "ok", record
    assert record["entries_completed"] == 40
    assert record["threads_used"] == 2
    assert len(record["members"]) == 1
    assert record["members"][0]["memory"]["peak_host_rss_measured_bytes"] > 0
    assert "inference" in record["overlapping_phases"]
    assert_close(built_campaign, "shared", 1e-5)


def test_more_processes_than_threads_are_refused(built_campaign):
    record = built_campaign.measure("crowded", processes=2)
    assert record["status"] == "refused"
    assert "threads" in record["reason"]
