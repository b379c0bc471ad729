"""A machine is the offer it is said to be, by its GPUs' real names and number."""

import json

import pytest

from atpar.engine import environment
from atpar.engine.environment import inspect_offer
from atpar.engine.identify import Card, check_card, fault, is_card, offer_here
from atpar.errors import AtparError


def gpus(name, count=1):
    return [{"kind": "cuda", "name": name}] * count


@pytest.mark.parametrize(
    ("gpu", "name", "same"),
    [
        ("rtx-4090", "NVIDIA GeForce RTX 4090", True),
        ("RTX 4090", "NVIDIA GeForce RTX 4090", True),
        ("rtx-4090", "NVIDIA GeForce RTX 4090 D", False),
        ("rtx-4090", "NVIDIA GeForce RTX 4090 Laptop GPU", False),
        ("rtx-4090-laptop", "NVIDIA GeForce RTX 4090 Laptop GPU", True),
        ("rtx-4080", "NVIDIA GeForce RTX 4080 SUPER", False),
        ("rtx-6000", "NVIDIA RTX 6000 Ada Generation", False),
        ("a100", "NVIDIA A100-SXM4-80GB", True),
        ("a100-80gb", "NVIDIA A100-SXM4-80GB", True),
        ("a100-40gb", "NVIDIA A100-SXM4-80GB", False),
        ("a100", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", False),
        ("b200", "NVIDIA B200", True),
        ("b200", "NVIDIA GB200", False),
        ("mi300x", "AMD Instinct MI300X", True),
        ("b200", None, False),
    ],
)
def test_names(gpu, name, same):
    assert is_card(Card("x", gpu), name) is same


def test_the_drivers_spelling_in_the_table_decides_alone():
    card = Card("x", "h100", device_name="NVIDIA H100 PCIe")
    assert is_card(card, "NVIDIA H100 PCIe")
    assert not is_card(card, "NVIDIA H100 80GB HBM3")


@pytest.mark.parametrize(
    ("per_lot", "lots", "count", "fits"),
    [(2, 1, 2, True), (2, 1, 1, False), (2, 1, 4, False), (2, 2, 4, True), (2, 2, 2, True),
     (1, 2, 1, True), (None, 1, 8, True)],
)  # fmt: skip
def test_a_machine_holds_whole_lots(per_lot, lots, count, fits):
    found = fault(Card("x", "b200", gpus_per_lot=per_lot, lots=lots), gpus("NVIDIA B200", count))
    assert (found is None) is fits
    assert fits or f"{count} are visible" in found


@pytest.mark.parametrize("count", [0, 1, 8])
def test_an_offer_may_be_whatever_the_machine_has(count):
    card = Card("x", "one-thread", device_name="*", gpus_per_lot=1)
    assert fault(card, gpus("NVIDIA H200", count)) is None


def test_one_foreign_card_among_the_offers_is_named():
    with pytest.raises(AtparError, match=r"'x' is b200, but this machine has NVIDIA L40S"):
        check_card(Card("x", "b200"), {"devices": [*gpus("NVIDIA B200"), *gpus("NVIDIA L40S")]})


def test_a_cpu_has_nothing_to_check():
    check_card(Card("x", "two-threads"), {"devices": []})


def test_another_card_is_refused_before_anything_is_written(monkeypatch, tmp_path):
    found = [{**gpus("NVIDIA L40S")[0], "driver": "570.1", "uuid": "GPU-1", "memory_bytes": 1}]
    monkeypatch.setattr(environment, "_gpus", lambda _: (found, ""))
    output = tmp_path / "environment.json"
    with pytest.raises(AtparError, match="'x' is b200, but this machine has NVIDIA L40S"):
        inspect_offer({"offer": "x", "device": "cuda"}, output, card=Card("x", "b200"))
    assert not output.exists()
    inspect_offer({"offer": "x", "device": "cuda"}, output, card=Card("x", "l40s"))
    assert json.loads(output.read_text())["device"]["name"] == "NVIDIA L40S"


CARDS = [Card("ada", "rtx-4090", gpus_per_lot=1, lots=2), Card("dear", "b200", gpus_per_lot=2)]


def test_auto_finds_the_offer():
    assert offer_here(CARDS, gpus("NVIDIA B200", 2)) == "dear"
    assert offer_here(CARDS, gpus("NVIDIA GeForce RTX 4090")) == "ada"


def test_auto_does_not_guess():
    with pytest.raises(AtparError, match="no GPU is visible"):
        offer_here(CARDS, [])
    with pytest.raises(AtparError, match=r"\(1 x NVIDIA B200\)(.|\n)*2 GPUs, but 1 are visible"):
        offer_here(CARDS, gpus("NVIDIA B200"))
    with pytest.raises(AtparError, match="could be dear, cheap"):
        offer_here([*CARDS, Card("cheap", "b200", gpus_per_lot=1, lots=2)], gpus("NVIDIA B200", 2))
