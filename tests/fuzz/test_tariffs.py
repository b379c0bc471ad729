"""Tariff files, other tools' price lists and invoices: read, or one clean message with the file."""

import csv
import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atpar.errors import AtparError
from atpar.money.calculator import DIALECT, Tariff, read_tariffs
from atpar.money.importers.capacity_blocks import import_capacity_blocks
from atpar.money.importers.common import Origin, write_tariffs
from atpar.money.importers.gpuhunt import import_gpuhunt
from atpar.money.importers.skypilot import import_skypilot
from atpar.money.invoice import read_invoice, reconcile
from atpar.money.priced import load_tariffs
from stand_ins import CARDS, OFFERING

EFFORT = settings.get_profile("fuzz")
ORIGIN = Origin(date(2026, 9, 24), "a price list")
TARIFF_FILES = sorted((Path(__file__).resolve().parents[2] / "resources/tariffs").glob("*.csv"))
LISTS = {
    "gpuhunt": (
        import_gpuhunt,
        "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size\n"
        'a3-8,eu-1,24.48,96,1024.0,8,H100,80.0,False,\n"r-1",us-1,0.34,6,62.0,1,RTX4090,24,True,\n',
    ),
    "skypilot": (
        import_skypilot,
        "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GPUInfo,Region,"
        "AvailabilityZone,Price,SpotPrice\n"
        "p4,96.0,1152.0,A100,8.0,\"{'Gpus': []}\",eu-1,eu-1a,32.77,11.5\n"
        "m6,4.0,16.0,,,,eu-1,eu-1a,0.19,\n",
    ),
}
INVOICES = {
    "focus": "BilledCost,BillingCurrency,Tags,ResourceId,ChargeDescription\n"
    '12.50,USD,"{""offer"": ""b200"", ""item"": ""fee""}",x,fee\n0,USD,null,b200/1,rental\n',
    "plain": "offer,item,amount,currency\nrtx,rental,220.00,USD\n,fee,1.50,EUR\n",
}

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
odd = text | st.sampled_from(
    [
        '"',
        "1,5",
        "1e400",
        "1e999999",
        "-1",
        "NaN",
        "Infinity",
        "\x00",
        "\r",
        "8.0",
        "½",
        "٣",
        "\u2028",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=4,
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tariffs")


def damaged(data, content):
    """Return text with a few places replaced by odd ones."""
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.integers(0, 6))
        content = content[:place] + data.draw(odd) + content[place + gone :]
    return content


def refused_or_read(action, path):
    try:
        return action()
    except AtparError as error:
        assert str(path) in str(error)
    return None


@pytest.mark.parametrize("file", TARIFF_FILES, ids=lambda path: path.stem)
@EFFORT
@given(data=st.data())
def test_a_changed_tariff_file_is_read_or_refused(folder, file, data):
    path = folder / "tariffs.csv"
    path.write_text(damaged(data, file.read_text(encoding="utf-8")), encoding="utf-8", newline="")
    refused_or_read(lambda: load_tariffs([str(path)]), path)


@EFFORT
@given(content=st.binary(max_size=80), declared=st.booleans())
def test_any_bytes_as_tariff_file_are_refused(folder, content, declared):
    path = folder / "tariffs.csv"
    path.write_bytes((DIALECT.encode() + b"\n" if declared else b"") + content)
    refused_or_read(lambda: load_tariffs([str(path)]), path)


words = st.from_regex(r"[A-Za-z][A-Za-z0-9 ,\"'-]{0,10}[A-Za-z0-9]", fullmatch=True)


@EFFORT
@given(
    price=st.decimals("0.0001", "99999", places=4),
    provider=words,
    gpu=words,
    sku=words,
    cards=st.integers(1, 16),
    day=st.dates(date(2020, 1, 1), date(2030, 1, 1)),
)
def test_a_written_price_comes_back(folder, price, provider, gpu, sku, cards, day):
    path = folder / "written.csv"
    tariff = Tariff(
        provider=" ".join(provider.split()),
        gpu=" ".join(gpu.split()),
        gpus_per_lot=cards,
        billing="hourly",
        price=price,
        price_per="instance",
        currency="USD",
        priced_on=day,
        source="a price list",
        sku=" ".join(sku.split()),
    )
    write_tariffs(path, [tariff], "fuzz")
    (back,) = read_tariffs(path)
    assert (back.key, back.price, back.priced_on, back.gpus_per_lot) == (
        tariff.key, price, day, cards,
    )  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@EFFORT
@given(data=st.data())
def test_a_changed_price_list_is_read_or_refused(folder, name, data):
    read, content = LISTS[name]
    path = folder / f"{name}.csv"
    path.write_text(damaged(data, content), encoding="utf-8", newline="")
    found = refused_or_read(lambda: read(path, ORIGIN, "cloud"), path)
    if found is not None and found.tariffs:
        refused_or_read(lambda: write_tariffs(folder / "out.csv", found.tariffs, "fuzz"), "")


@pytest.mark.parametrize("name", LISTS)
@EFFORT
@given(content=st.binary(max_size=60), whole=st.booleans())
def test_any_bytes_as_price_list_are_refused(folder, name, content, whole):
    read, written = LISTS[name]
    path = folder / f"{name}.csv"
    path.write_bytes((written.encode() if whole else b"") + content)
    refused_or_read(lambda: read(path, ORIGIN, "cloud"), path)


@EFFORT
@given(key=st.sampled_from(list(OFFERING)) | text, value=values, gone=st.booleans())
def test_a_changed_offering_is_read_or_refused(folder, key, value, gone):
    path = folder / "blocks.json"
    offering = {**OFFERING, key: value}
    if gone:
        del offering[key]
    path.write_text(json.dumps({"CapacityBlockOfferings": [offering]}))
    refused_or_read(lambda: import_capacity_blocks(path, ORIGIN, CARDS, "aws"), path)


@EFFORT
@given(content=values.map(json.dumps) | text)
def test_anything_as_offerings_is_read_or_refused(folder, content):
    path = folder / "blocks.json"
    path.write_text(content, encoding="utf-8")
    refused_or_read(lambda: import_capacity_blocks(path, ORIGIN, CARDS, "aws"), path)


def reconciled(path):
    charges = read_invoice(path)
    found = reconcile(charges[:1], charges)
    assert sum(one.billed is not None for one in found) == len(charges)


@pytest.mark.parametrize("name", INVOICES)
@EFFORT
@given(data=st.data())
def test_a_changed_invoice_is_read_or_refused(folder, name, data):
    path = folder / "invoice.csv"
    path.write_text(damaged(data, INVOICES[name]), encoding="utf-8", newline="")
    refused_or_read(lambda: reconciled(path), path)


@EFFORT
@given(content=st.binary(max_size=80), whole=st.booleans())
def test_any_bytes_as_invoice_are_refused(folder, content, whole):
    path = folder / "invoice.csv"
    path.write_bytes((INVOICES["plain"].encode() if whole else b"") + content)
    refused_or_read(lambda: reconciled(path), path)


@EFFORT
@given(tags=values.map(json.dumps) | text, amount=odd)
def test_anything_as_tags_and_amount_is_read_or_refused(folder, tags, amount):
    path = folder / "invoice.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["BilledCost", "BillingCurrency", "Tags"])
        table.writerows([["1.50", "USD", tags], [amount, "USD", ""]])
    refused_or_read(lambda: reconciled(path), path)
