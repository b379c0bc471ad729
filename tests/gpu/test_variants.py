"""Kinds of variants on a GPU: packed, quantized, flash, spread; what is absent is skipped."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU on this machine"),
]
TORCHAO = "torchao isn't installed (requirements-torchao.txt)"
ACCELERATE = "{} isn't installed (requirements-accelerate.txt)"
SEVERAL = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU here")


def largest_difference(campaign, variant):
    """Return how far a variant's scores are from the plain pass's, at most."""
    scores, plain = (
        np.array(campaign.predictions(name).column("scores").to_pylist())
        for name in (variant, "plain")
    )
    return np.abs(scores - plain).max()


@pytest.mark.parametrize(
    ("options", "used", "tolerance"),
    [
        ({"batch_size": 7}, "sdpa within packed entries", 1e-4),
        ({"batch_size": None, "token_budget": 200}, "sdpa within packed entries", 1e-4),
        ({"precision": "fp16"}, "sdpa within packed entries", 0.1),
        ({"precision": "bf16", "attention": "flash"}, "flash within packed entries", 0.1),
        ({"precision": "fp16", "attention": "flash"}, "flash within packed entries", 0.1),
    ],
    ids=str,
)
def test_packed_entries_have_the_scores_of_single_ones(gpu_campaign, options, used, tolerance):
    record = gpu_campaign.measure("packed", padding="none", **options)
    assert record["status"] == "ok", record
    assert record["attention_used"] == used
    assert record["tokens_padded"] == record["tokens_real"]
    assert largest_difference(gpu_campaign, "packed") < tolerance


def test_flash_is_used_or_refused(gpu_campaign):
    record = gpu_campaign.measure("flash", precision="bf16", attention="flash")
    if record["status"] == "refused":
        assert "flash-attn isn't installed" in record["reason"]
        pytest.skip("the package flash-attn isn't installed")
    assert (record["status"], record["attention_used"]) == ("ok", "flash_attention_2")
    assert largest_difference(gpu_campaign, "flash") < 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"quantization": "int8-weight-only"},
        {"quantization": "int8-weight-only", "precision": "bf16"},
        {"quantization": "int8-dynamic-torchao", "precision": "bf16"},
        {"quantization": "int8-weight-only", "precision": "bf16", "padding": "none"},
    ],
    ids=str,
)
def test_torchao_quantizes_on_the_gpu(gpu_campaign, options):
    pytest.importorskip("torchao", reason=TORCHAO)
    record = gpu_campaign.measure("ao", **options)
    assert record["status"] == "ok", record
    assert record["dtype_used"].endswith("+int8")
    assert 0 < largest_difference(gpu_campaign, "ao") < 0.3


def test_bitsandbytes_quantizes_on_the_gpu(gpu_campaign):
    for package in ("accelerate", "bitsandbytes"):
        pytest.importorskip(package, reason=ACCELERATE.format(package))
    record = gpu_campaign.measure("bnb", quantization="int8-bitsandbytes", precision="fp16")
    assert record["status"] == "ok", record
    assert any("LLM.int8" in note for note in record["notes"])
    assert record["dtype_used"].endswith("+int8")
    assert 0 < largest_difference(gpu_campaign, "bnb") < 0.3


def test_one_gpu_is_not_spread_over(gpu_campaign):
    pytest.importorskip("accelerate", reason=ACCELERATE.format("accelerate"))
    if torch.cuda.device_count() > 1:
        pytest.skip("there are several GPUs here")
    record = gpu_campaign.measure("spread", device_map="balanced")
    assert record["status"] == "refused"
    assert "several GPUs" in record["reason"]


@SEVERAL
def test_a_model_is_spread_over_all_gpus(gpu_campaign):
    pytest.importorskip("accelerate", reason=ACCELERATE.format("accelerate"))
    record = gpu_campaign.measure("spread", device_map="balanced")
    assert record["status"] == "ok", record
    assert any("spread over GPUs" in note for note in record["notes"])
    assert record["memory"]["peak_device1_allocated_measured_bytes"] > 0
    assert len(record["conditions"]["energy"]) == torch.cuda.device_count()
    assert largest_difference(gpu_campaign, "spread") < 1e-4


@SEVERAL
def test_a_process_on_each_gpu_shares_the_corpus(gpu_campaign, monkeypatch):
    settings = gpu_campaign.settings

    def two_threads(*arguments, **more):
        found = settings(*arguments, **more)
        return {**found, "offer": {**found["offer"], "threads": 2}}

    monkeypatch.setattr(gpu_campaign, "settings", two_threads)
    record = gpu_campaign.measure("shared", processes=2)
    assert (record["status"], record["entries_completed"]) == ("ok", 40), record
    devices = {record["device"]["uuid"], record["members"][0]["device"]["uuid"]}
    assert len(devices) == 2
    assert largest_difference(gpu_campaign, "shared") < 1e-4


def test_energy_has_a_figure_or_a_code(gpu_campaign):
    record = gpu_campaign.measure("plain")
    [found] = record["conditions"]["energy"]
    valid = found["validity"] == "valid"
    assert (found["energy_j"] is not None) == valid
    assert (found["reason"] is None) == valid
    [state] = record["conditions"]["cards_after"]
    for name in ("sm_clock_mhz", "temperature_c", "power_w"):
        assert state[name] is not None or name in state["reasons"]
