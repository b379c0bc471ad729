"""Price lists of other tools, in the shapes that people have."""

import json
from datetime import date
from decimal import Decimal

import pytest

from atpar.cli import main
from atpar.commands import import_tariff
from atpar.errors import AtparError
from atpar.money.calculator import read_tariffs
from atpar.money.importers.capacity_blocks import import_capacity_blocks
from atpar.money.importers.common import Origin, write_tariffs
from atpar.money.importers.gpuhunt import import_gpuhunt
from atpar.money.importers.skypilot import import_skypilot
from stand_ins import CARDS, OFFERING

ORIGIN = Origin(date(2026, 9, 24), "catalogue of 2026-09-24")

GPUHUNT_V2 = """instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,\
disk_size,gpu_vendor,flags,cpu_arch,provider_data
a3-8,eu-1,24.48,96,1024.0,8,H100,80.0,False,,nvidia,,x86,"{""zone"": ""b""}"
a3-8,eu-1,9.10,96,1024.0,8,H100,80.0,True,,nvidia,,x86,
c-16,eu-1,0.80,16,64.0,0,,,False,100,,,x86,
r-1,us-1,0.34,6,62.0,1,RTX4090,24.0,False,20,nvidia,,x86,
"""
GPUHUNT_OLD = """instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,\
disk_size
r-1,us-1,0.34,6,62.0,1,RTX4090,24.0,False,
"""
SKYPILOT_V8 = """InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GPUInfo,Region,\
AvailabilityZone,Price,SpotPrice,Arch
p4,96.0,1152.0,A100,8.0,"{'Gpus': [{'Name': 'A100'}]}",eu-1,eu-1a,32.77,11.5,x86_64
p4,96.0,1152.0,A100,8.0,"{'Gpus': [{'Name': 'A100'}]}",eu-1,eu-1b,32.77,,x86_64
m6,4.0,16.0,,,,eu-1,eu-1a,0.19,,x86_64
vg,4.0,16.0,A10,0.5,,eu-1,eu-1a,0.45,,x86_64
t4,4.0,16.0,T4,1.0,,eu-1,eu-1a,,,x86_64
"""


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_gpuhunt_prices_are_per_instance(tmp_path):
    found = import_gpuhunt(write(tmp_path / "acme.csv", GPUHUNT_V2), ORIGIN)
    first, spot, single = found.tariffs
    assert (first.provider, first.gpus_per_lot, first.lot_price) == ("acme", 8, Decimal("24.48"))
    assert (spot.sku, spot.notes.split(":")[0]) == ("a3-8 (spot)", "spot")
    assert (single.gpu, single.region, single.step_s) == ("RTX4090", "us-1", None)
    assert found.left_out == {"no GPU": 1}
    assert all((one.priced_on, one.source) == (ORIGIN.priced_on, ORIGIN.source)
               for one in found.tariffs)  # fmt: skip


def test_a_provider_that_looks_like_a_comment_comes_back(tmp_path):
    [one] = import_gpuhunt(write(tmp_path / "acme.csv", GPUHUNT_OLD), ORIGIN, "#1 cloud").tariffs
    write_tariffs(tmp_path / "out.csv", [one], "x")
    [back] = read_tariffs(tmp_path / "out.csv")
    assert back.provider == "#1 cloud"


def test_older_gpuhunt_files_lack_columns_and_still_read(tmp_path):
    [one] = import_gpuhunt(write(tmp_path / "acme.csv", GPUHUNT_OLD), ORIGIN, "other").tariffs
    assert (one.provider, one.price) == ("other", Decimal("0.34"))


@pytest.mark.parametrize("arch", [True, False])
def test_skypilot_catalogues_hold_both_prices_of_an_instance(tmp_path, arch):
    text = SKYPILOT_V8 if arch else SKYPILOT_V8.replace(",Arch", "").replace(",x86_64", "")
    found = import_skypilot(write(tmp_path / "acme" / "vms.csv", text), ORIGIN)
    assert [(one.sku, one.region, one.price) for one in found.tariffs] == [
        ("p4", "eu-1a", Decimal("32.77")),
        ("p4 (spot)", "eu-1a", Decimal("11.5")),
        ("p4", "eu-1b", Decimal("32.77")),
    ]
    assert {one.provider for one in found.tariffs} == {"acme"}
    assert found.left_out == {"no GPU": 1, "a part of a GPU": 1, "no price": 1}


@pytest.mark.parametrize("spelling", ["camel", "pascal"])
def test_a_capacity_block_is_a_package(tmp_path, spelling):
    offering = OFFERING
    if spelling == "pascal":
        offering = {key[0].upper() + key[1:]: value for key, value in OFFERING.items()}
    text = json.dumps({"CapacityBlockOfferings": [offering]})
    [one] = import_capacity_blocks(write(tmp_path / "b.json", text), ORIGIN, CARDS).tariffs
    assert (one.billing, one.term_days, one.gpus_per_lot) == ("package", 3, 16)
    assert one.amount(1) == Decimal("4532.00")
    assert one.usable.total_seconds() == 71.5 * 3600  # K11: ended before the block ends


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("{}", "expected a list"),
        (json.dumps([OFFERING | {"upfrontFee": ""}]), "offering 1: upfrontFee is missing"),
        (json.dumps([OFFERING | {"upfrontFee": "-1"}]), "isn't negative"),
        (json.dumps([OFFERING | {"instanceType": "p6"}]), "--cards p6="),
        (json.dumps([OFFERING, OFFERING | {"upfrontFee": "1"}]), "offering 2|line 2"),
    ],
)
def test_a_faulty_offering_is_named(tmp_path, text, message):
    with pytest.raises(AtparError, match=message):
        import_capacity_blocks(write(tmp_path / "b.json", text), ORIGIN, CARDS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.34", "", "line 5: gpu_name or price is empty"),
        ("0.34", "-0.34", "line 5: price is '-0.34'"),
        ("0.34", "nan", "line 5: price is 'nan'"),
        (",False,20", ",maybe,20", "line 5: spot is 'maybe'"),
        ("62.0,1,", "62.0,0.5,", "a part of a GPU"),
        ("gpu_name", "gpu", "columns gpu_name are missing"),
        ("c-16,eu-1,0.80,16,64.0,0,,", "r-1,us-1,0.80,16,64.0,1,RTX4090,", "remove one"),
    ],
)
def test_a_faulty_row_is_refused_by_its_line(tmp_path, old, new, message):
    with pytest.raises(AtparError, match=message):
        import_gpuhunt(write(tmp_path / "acme.csv", GPUHUNT_V2.replace(old, new, 1)), ORIGIN)


def test_the_command_writes_a_tariff_file_that_reads_back(tmp_path, capsys):
    source = write(tmp_path / "acme.csv", GPUHUNT_V2)
    target = tmp_path / "tariff.csv"
    words = ["import-tariff", "gpuhunt", str(source), "--priced-on", "2026-09-24"]
    words += ["--source", "gpuhunt, v2", "--output", str(target), "--gpu", "h100"]
    assert main(words) == 0
    assert "2 prices of 2026-09-24" in capsys.readouterr().out
    first, _ = read_tariffs(target)
    assert (first.price, first.source, first.sku) == (Decimal("24.48"), "gpuhunt, v2", "a3-8")
    assert main([*words, "--gpu", "b300", "--region", "x"]) == 2
    assert "GPUs in the file: H100, RTX4090" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["p5.48xlarge", "p5=h100", "p5=h100:0", "=h100:8", "p5=:8"])
def test_cards_of_an_instance_are_stated_in_full(text):
    with pytest.raises(AtparError, match=r"p5\.48xlarge=h100:8"):
        import_tariff._cards(text)
