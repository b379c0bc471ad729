"""Reconciliation: what doesn't match is named, line by line."""

import json
from decimal import Decimal

import pytest

from atpar.cli import main
from atpar.errors import AtparError
from atpar.money.invoice import read_invoice, read_ledger, reconcile

LEDGER = """offer,variant,item,amount,currency
rtx,,rental: preparation,100.00,USD
rtx,b1,rental: passes,25.71,USD
rtx,,rental: paid but unused,94.29,USD
rtx,,storage,,USD
rtx,,transfer out,4.50,USD
rtx,,tax,0.00,USD
b200,,rental: preparation,2071.00,USD
b200,,bank-fee,12.50,USD
b200,,card-fee,12.50,USD
"""


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_text(LEDGER, encoding="utf-8")
    return path


def invoice(folder, *rows, header="offer,item,amount,currency"):
    path = folder / "invoice.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def statuses(ledger, path, tolerance="0"):
    found = reconcile(read_ledger(ledger), read_invoice(path), Decimal(tolerance))
    return {(one.offer, one.item): one.status for one in found}


def test_the_parts_of_a_rental_are_one_charge(ledger):
    charges = {one.key: one.amount for one in read_ledger(ledger)}
    assert charges["rtx", "rental"] == Decimal("220.00")
    assert charges["rtx", "storage"] is None


def test_every_line_of_both_sides_is_accounted_for(ledger, tmp_path):
    path = invoice(
        tmp_path,
        "rtx,Rental,200.00,USD",
        "rtx,rental,20.00,USD",
        "rtx,storage,3.00,USD",
        "rtx,transfer out,4.51,USD",
        "b200,rental,2071.00,EUR",
        "b200,setup,9.99,USD",
        ",wire fee,12.50,USD",
        "b200,nothing,0.00,USD",
    )
    assert statuses(ledger, path) == {
        ("rtx", "rental"): "matches",
        ("rtx", "storage"): "billed, a gap in the ledger",
        ("rtx", "transfer out"): "differs",
        ("b200", "rental"): "another currency",
        ("b200", "setup"): "billed, not engaged",
        ("", "wire fee"): "billed, not engaged",  # two charges have its amount
        ("b200", "bank-fee"): "engaged, not billed",
        ("b200", "card-fee"): "engaged, not billed",
    }
    assert statuses(ledger, path, "0.01")["rtx", "transfer out"] == "matches"


def test_a_charge_with_an_unknown_part_says_so_where_it_differs(tmp_path):
    ledger = tmp_path / "partly.csv"
    ledger.write_text(
        "offer,variant,item,amount,currency\n"
        "a,,rental: passes,5.00,USD\na,,rental: stopped,,USD\nb,,rental: passes,5.00,USD\n",
        "utf-8",
    )
    path = invoice(tmp_path, "a,rental,7.40,USD", "b,rental,7.40,USD")
    first, second = reconcile(read_ledger(ledger), read_invoice(path))
    assert first.remark.startswith("by +2.40; the ledger doesn't know the amount of a part of it")
    assert "doesn't know" not in second.remark


def test_a_line_under_another_name_is_found_by_its_amount_if_only_one_has_it(ledger, tmp_path):
    path = invoice(tmp_path, ",data egress,4.50,USD", ",data egress again,4.50,EUR")
    found = statuses(ledger, path)
    assert found["rtx", "transfer out"] == "matches by its amount"
    assert found["", "data egress again"] == "billed, not engaged"


def test_focus_rows_name_offer_and_item_in_tags_or_resource(ledger, tmp_path):
    tags = '"{""offer"": ""b200"", ""item"": ""bank-fee""}"'
    path = invoice(
        tmp_path,
        f"12.50,USD,{tags},x,fee of the bank",
        "2071.00,USD,,b200/node-1,rental",
        "0,USD,,b200/node-1,rental",
        header="BilledCost,BillingCurrency,Tags,ResourceId,ChargeDescription",
    )
    found = statuses(ledger, path)
    assert found["b200", "bank-fee"] == found["b200", "rental"] == "matches"


@pytest.mark.parametrize(
    ("row", "header", "message"),
    [
        ('rtx,rental,"1,5",USD', "offer,item,amount,currency", "row 2: the amount is '1,5'"),
        ("rtx,rental,inf,USD", "offer,item,amount,currency", "row 2: the amount is 'inf'"),
        ("rtx,rental,1.5,", "offer,item,amount,currency", "row 2: the currency is empty"),
        ("rtx,rental,1.5", "offer,item,amount", "currency is missing"),
        ("1.5,USD,{", "BilledCost,BillingCurrency,Tags", "Tags is no JSON"),
    ],
)
def test_an_unreadable_invoice_is_refused_by_its_row(tmp_path, row, header, message):
    with pytest.raises(AtparError, match=message):
        read_invoice(invoice(tmp_path, row, header=header))


@pytest.mark.parametrize("tags", ["", "null", "[]", '"{""team"": 7}"', '"{""offer"": null}"'])
def test_tags_that_name_nothing_leave_it_to_the_other_columns(ledger, tmp_path, tags):
    header = "BilledCost,BillingCurrency,Tags,ResourceId,ChargeDescription"
    path = invoice(tmp_path, f"2071.00,USD,{tags},b200/node-1,rental", header=header)
    assert statuses(ledger, path)["b200", "rental"] == "matches"


def test_a_number_as_a_tag_is_a_name(tmp_path):
    header = "BilledCost,BillingCurrency,Tags"
    path = invoice(tmp_path, '1.00,USD,"{""offer"": 7, ""item"": 2.5}"', header=header)
    [charge] = read_invoice(path)
    assert charge.key == ("7", "2.5")


@pytest.mark.parametrize(
    "tags", ["7", "true", "[1]", '"""x"""', '"{""offer"": {}}"', '"{""item"": [1]}"', "9" * 5000]
)
def test_tags_that_are_no_names_are_refused(tmp_path, tags):
    header = "BilledCost,BillingCurrency,Tags"
    with pytest.raises(AtparError, match="row 2: Tags is"):
        read_invoice(invoice(tmp_path, f"1.00,USD,{tags}", header=header))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("offer,item,amount,currency\nrtx,Gebühr,1.00,USD\n".encode("cp1252"), "not UTF-8"),
        ("offer,item,amount,currency\nrtx,fee,1.00,USD\n".encode("utf-16"), "not UTF-8"),
        (b"offer,item,amount,currency\nrtx,fee,1,234.50,USD\n", "line 2: more cells"),
        (b'offer,item,amount,currency\nrtx,"' + b"x" * 140_000 + b'",1,USD\n', "no CSV"),
        (b"offer,item,amount,currency\nrtx,fee,1e999999,USD\n", "row 2: the amount is"),
        (b"offer,item,amount,currency\nrtx,fee,-1e1000048,USD\n", "row 2: the amount is"),
        (b"offer,item,amount,currency\nrtx,fee,1e-1000048,USD\n", "row 2: the amount is"),
    ],
    ids=["cp1252", "utf-16", "thousands", "huge", "exponent", "beyond", "below"],
)
def test_an_export_that_is_no_csv_in_utf8_is_one_message(
    ledger, tmp_path, capsys, content, message
):
    path = tmp_path / "invoice.csv"
    path.write_bytes(content)
    assert main(["reconcile", str(path), "--ledger", str(ledger)]) == 2
    said = capsys.readouterr().err
    assert message in said and str(path) in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tolerance", "nan"], "--tolerance is 'nan'; write it as 0.01"),
        (["--tolerance", "inf"], "--tolerance is 'inf'"),
        (["--tolerance=-1"], "--tolerance is '-1'"),
        (["--ledger", "."], ".: no such ledger"),
        (["--ledger", "invoice.csv"], "row 2: offer, item or currency is empty"),
    ],
)
def test_a_bad_question_about_an_invoice_is_one_message(
    ledger, tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    path = invoice(tmp_path, ",fee,1.00,USD")
    assert main(["reconcile", str(path), "--ledger", str(ledger), *words]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_the_command_ends_with_1_if_anything_is_off(ledger, tmp_path, capsys):
    ledger.write_text("offer,variant,item,amount,currency\na,,rental: x,5.00,USD\n", "utf-8")
    path = invoice(tmp_path, "a,rental,5.00,USD")
    assert main(["reconcile", str(path), "--ledger", str(ledger)]) == 0
    assert "1 of 1 lines match" in capsys.readouterr().out
    path = invoice(tmp_path, "a,rental,5.01,USD")
    assert main(["reconcile", str(path), "--ledger", str(ledger), "--json"]) == 1
    [answer] = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["remark"][:8]) == ("differs", "by +0.01")
    path = invoice(tmp_path, "b,setup,5.00,USD", "a,rental,5.00,USD")
    assert main(["reconcile", str(path), "--ledger", str(ledger)]) == 1
    assert "b setup: billed 5.00 / engaged nothing USD" in capsys.readouterr().out
    ledger.write_text("offer,variant,item,amount,currency\na,,storage,,USD\n", "utf-8")
    path = invoice(tmp_path, "a,storage,5.00,USD")
    assert main(["reconcile", str(path), "--ledger", str(ledger)]) == 1
    assert "a storage: billed 5.00 / engaged unknown USD" in capsys.readouterr().out
    assert main(["reconcile", "missing.csv", "--ledger", str(ledger)]) == 2
