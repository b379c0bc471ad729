"""Options that need packages or cards which this machine may lack: refused, or tried by seams."""

from types import SimpleNamespace

import pytest

from atpar.config.variants import Variant
from atpar.engine import packages
from atpar.engine.devices import CpuDevice
from atpar.engine.job import Job
from atpar.engine.refused import Refused
from atpar.engine.spread import SpreadDevice, spread_note


class Card(CpuDevice):
    """A card with counters of its own."""

    kind, asynchronous = "cuda", True

    def __init__(self, number):
        super().__init__("NVIDIA H100 PCIe")
        self.number, self.uuid, self.target = number, f"GPU-{number}", f"cuda:{number}"
        self.waits = self.resets = 0

    def synchronise(self):
        self.waits += 1

    def reset_peaks(self):
        self.resets += 1

    def peaks(self, scope):
        return {f"peak_device_allocated_{scope}_bytes": 100 + self.number}, {}

    def used_by_process(self):
        name = "device_used_by_process_bytes"
        return {name: None}, {name: f"NVML: unknown on {self.number}"}


def variant(**options):
    return Variant(**{"variant": "v", "batch_size": 8, **options}).model_dump(mode="json")


def test_several_cards_are_waited_for_and_counted_apart():
    cards = [Card(0), Card(1), Card(2)]
    device = SpreadDevice(cards)
    assert (device.target, device.uuid, device.kind) == ("cuda:0", "GPU-0", "cuda")
    assert device.asynchronous and device.name == "NVIDIA H100 PCIe"
    device.synchronise()
    device.reset_peaks()
    assert [(card.waits, card.resets) for card in cards] == [(1, 1)] * 3
    assert device.peaks("measured") == (
        {
            "peak_device_allocated_measured_bytes": 100,
            "peak_device1_allocated_measured_bytes": 101,
            "peak_device2_allocated_measured_bytes": 102,
        },
        {},
    )
    values, reasons = device.used_by_process()
    assert set(values.values()) == {None}
    assert reasons["device2_used_by_process_bytes"] == "NVML: unknown on 2"
    assert values.keys() == reasons.keys()


def test_the_note_says_which_card_holds_how_much():
    model = SimpleNamespace(hf_device_map={"embeddings": 0, "layer.0": 0, "layer.1": 1, "head": 1})
    assert spread_note(model) == "the model is spread over GPUs: 0 (2), 1 (2) parts"


@pytest.mark.parametrize("place", ["cpu", "disk"])
def test_a_part_on_the_host_is_refused(place):
    model = SimpleNamespace(hf_device_map={"embeddings": 0, "layer.0": 1, "layer.1": place})
    with pytest.raises(Refused, match=f"1 of 3 parts of it went to {place}"):
        spread_note(model)


def test_a_spread_pass_takes_all_cards_and_others_one_a_process():
    def cards(**options):
        return Job("a", "f", None, variant(**options), {}, {}, "l", 1).cards_of(4)

    assert (cards(), cards(processes=2), cards(device_map="auto")) == (1, 2, 4)


@pytest.mark.parametrize(
    ("options", "package", "words"),
    [
        ({"quantization": "int8-weight-only"}, "torchao", "requirements-torchao.txt"),
        ({"quantization": "int8-dynamic-torchao"}, "torchao", "int8-dynamic-torchao needs"),
        (
            {"quantization": "int8-bitsandbytes", "precision": "bf16"},
            "bitsandbytes",
            "requirements-accelerate.txt",
        ),
        ({"device_map": "auto"}, "accelerate", "device_map auto needs accelerate"),
        ({"backend": "onnxruntime"}, "onnxruntime", "backend onnxruntime needs onnxruntime"),
    ],
)
def test_a_missing_package_is_named_with_the_file_that_brings_it(
    options, package, words, monkeypatch
):
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == package else name)
    reason = packages.lacking(variant(**options))
    assert package in reason and words in reason
    monkeypatch.setattr(packages, "find_spec", lambda name: name)
    assert packages.lacking(variant(**options)) is None
    assert package in packages.computing(variant(**options))


def test_a_plain_variant_needs_nothing_optional():
    assert packages.computing(variant()) == packages.COMPUTING
    assert packages.lacking(variant()) is None
