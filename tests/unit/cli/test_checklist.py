"""The checklist before a rental: known points are filled in, the others stay open."""

import json
from datetime import date
from decimal import Decimal

import pytest

from atpar.cli import main
from atpar.config.offers import Offer
from atpar.money.calculator import Tariff
from atpar.money.checklist import checklist_points, render_checklist

TARIFF = """#tariff separator=comma decimal=point
provider,gpu,gpus_per_lot,billing,term_days,price,price_per,currency,priced_on,source
acme,b200,2,package,7,2071.00,lot,USD,2026-09-24,catalogue
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working directory with a small campaign."""
    monkeypatch.chdir(tmp_path)
    config = {
        "campaign": "test",
        "corpus": {"files": ["corpus.csv"]},
        "model": {"path": "model"},
        "protocol": {"tolerance": {"reference": "b1"}, "deadline": "2026-12-11T18:00"},
        "tables": {
            **{name: f"{name}.tsv" for name in ("calendar", "offers", "variants", "expenses")},
            "tariffs": ["tariff.csv"],
        },
    }
    files = {
        "config.yaml": json.dumps(config),
        "tariff.csv": TARIFF,
        "calendar.tsv": "task\tkind\tduration\tstart\nmeasure\tpasses\t1h\t2026-12-07T09:00\n",
        "offers.tsv": "offer\tprovider\tgpu\nbig\tacme\tb200\n",
        "variants.tsv": "variant\tbatch_size\nb1\t1\n",
        "expenses.tsv": "expense\tunit_price\tgrounds\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def points(text):
    lines = [line for line in text.splitlines() if line.startswith("- [")]
    return {line[6:].split(":")[0]: line for line in lines}


@pytest.mark.usefixtures("folder")
def test_before_the_rental_only_what_is_stated_is_known(capsys):
    assert main(["checklist", "--configfile", "config.yaml"]) == 0
    found = points(capsys.readouterr().out)
    assert found["GPU count"] == "- [x] GPU count: two GPUs (tariff)"
    assert "2071.00 USD for 1 lot, 7 days (catalogue, 2026-09-24)" in found["price"]
    assert "5 h, from Mon 2026-12-07 09:00 UTC" in found["window needed"]
    assert "Fri 2026-12-11 18:00 UTC" in found["deadline"]
    wanted = ("GPU memory", "region", "driver", "in stock for the window", "at expiry", "tax",
              "does data go with the instance?", "support", "disk needed")  # fmt: skip
    for name in wanted:
        assert found[name].startswith("- [ ]"), name


def test_what_was_read_on_the_machine_is_filled_in(folder):
    environment = {
        "device": {"kind": "cuda", "name": "NVIDIA B200", "memory_bytes": 180 * 2**30},
        "driver": "580.10",
        "cpu": {"name": "EPYC"},
        "memory_bytes": 64 * 2**30,
        "software": {"torch": "2.13.0"},
    }
    path = folder / "results" / "test" / "offers" / "big" / "environment.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(environment), encoding="utf-8")
    words = ["checklist", "--configfile", "config.yaml", "--offer", "big", "--output", "list.md"]
    assert main(words) == 0
    found = points((folder / "list.md").read_text(encoding="utf-8"))
    assert "NVIDIA B200 (read on the machine)" in found["GPU model"]
    assert found["GPU memory"].startswith("- [x]") and "180.0 GiB" in found["GPU memory"]
    assert "580.10" in found["driver"] and "torch 2.13.0" in found["software versions"]


def test_a_machine_without_a_gpu_is_not_shown_as_one(folder, capsys):
    environment = {
        "device": {"kind": "cpu", "name": "EPYC"},
        "cpu": {"name": "EPYC", "logical": 8, "usable": 2},
    }
    path = folder / "results" / "test" / "offers" / "big" / "environment.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(environment), encoding="utf-8")
    assert main(["checklist", "--configfile", "config.yaml"]) == 0
    found = points(capsys.readouterr().out)
    assert "none was found, so passes run on the CPU" in found["GPU model"]
    assert "EPYC, 2 of 8 logical CPUs usable" in found["CPU"]


@pytest.mark.usefixtures("folder")
def test_an_unknown_offer_or_file_is_one_message(capsys):
    assert main(["checklist", "--configfile", "config.yaml", "--offer", "bigg"]) == 2
    assert "did you mean 'big'?" in capsys.readouterr().err
    assert main(["checklist", "--configfile", "confg.yaml"]) == 2
    assert "confg.yaml: no such configuration file" in capsys.readouterr().err


def test_overlays_are_merged_over_the_configuration(folder, capsys):
    (folder / "over.yaml").write_text("protocol: {deadline: null}\n", encoding="utf-8")
    words = ["checklist", "--configfile", "config.yaml", "--configfile", "over.yaml"]
    assert main(words) == 0
    assert "- [ ] deadline: none is stated" in capsys.readouterr().out


@pytest.mark.parametrize("merged_by", ["over.yaml", "config/config.yaml over.yaml"])
def test_an_overlay_alone_is_merged_over_the_workflow_s_own_file(folder, capsys, merged_by):
    (folder / "config").mkdir()
    (folder / "config.yaml").rename(folder / "config" / "config.yaml")
    (folder / "over.yaml").write_text("protocol: {deadline: null}\n", encoding="utf-8")
    assert main(["checklist", "--configfile", *merged_by.split()]) == 0
    found = points(capsys.readouterr().out)
    assert "none is stated" in found["deadline"] and "2071.00 USD" in found["price"]


@pytest.mark.usefixtures("folder")
def test_without_any_configuration_the_missing_file_is_named(capsys):
    assert main(["checklist"]) == 2
    assert "config/config.yaml: no such configuration file" in capsys.readouterr().err


def test_hourly_billing_asks_when_it_starts_and_stops():
    tariff = Tariff(
        "acme", "a100", 1, "hourly", Decimal("2.50"), "gpu", "USD", date(2026, 9, 24), "list",
        step_s=60, billed_from="boot", stopped_per_hour=Decimal("0.10"),
    )  # fmt: skip
    offer = Offer(offer="a", provider="acme", gpu="a100", billing="hourly", lots=2)
    found = points(render_checklist("a", checklist_points(offer, tariff, None, {}, {})))
    assert "5.00 USD an hour for 2 lots" in found["price"]
    assert found["billing starts"] == "- [x] billing starts: boot (tariff)"
    assert found["billing ends"].startswith("- [ ]")
    assert found["rounding"] == "- [x] rounding: 60 s (tariff)"
    assert found["least that is billed"].startswith("- [ ]")
    assert "0.20 USD an hour for 2 lots" in found["price while stopped"]
