"""Two campaigns side by side: what changed is marked, nothing missing becomes a number."""

import csv

import pytest

from atpar.canonical import write_json, write_text
from atpar.decision.follows import compare_campaigns
from atpar.errors import AtparError


def campaign(folder, *, torch="2.13.0", median="2.0", metric="0.90", cost="220.00", model="a" * 64,
             currency="USD", options=(("x", "b1"),), choice=True):  # fmt: skip
    write_json(folder / "protocol/seal.json", {"digest": "5" * 64})
    write_json(folder / "corpus/fingerprint.json", {"corpus_digest": "c" * 64})
    write_json(folder / "model/fingerprint.json", {"model_digest": model, "revision": None})
    for offer in {offer for offer, _ in options}:
        write_json(
            folder / f"offers/{offer}/environment.json",
            {
                "digest": torch,
                "device": {"name": "NVIDIA B200", "count": 2, "devices": [{"name": "NVIDIA B200"}]},
                "driver": "570.1",
                "software": {"torch": torch, "numpy": "2.4.6"},
                "cpu": {"features": ["avx2"]},
                "inspected_at_utc": median,
            },
        )
    summary = "offer,variant,median_s,min_s,metric,metric_value,quality_verdict\n"
    balance = "offer,variant,engaged_amount,currency,cost_per_deliverable\n"
    for offer, variant in options:
        summary += f"{offer},{variant},{median},{median},accuracy,{metric},accepted\n"
        balance += f"{offer},{variant},{cost},{currency},{cost}\n"
    write_text(folder / "summary.csv", summary)
    write_text(folder / "balance.csv", balance)
    chosen = {"offer": options[0][0], "variant": options[0][1]} if choice else None
    write_json(
        folder / "decision.json", {"outcome": "chosen" if choice else "none", "choice": chosen}
    )
    return folder


def compared(before, after):
    output = after / "follows.csv"
    compare_campaigns(before, after, output)
    with output.open(newline="") as stream:
        return {
            (row["subject"], row["offer"], row["variant"], row["item"]): row
            for row in csv.DictReader(stream)
        }


def test_what_changed_is_marked_and_the_rest_is_not(tmp_path):
    before = campaign(tmp_path / "old")
    after = campaign(tmp_path / "new", torch="2.14.0", median="1.5", cost="110.00", model="b" * 64)
    rows = compared(before, after)
    changed = {key for key, row in rows.items() if row["changed"] == "true"}
    assert changed == {
        ("question", "", "", "model"),
        ("stack", "x", "", "software.torch"),
        ("duration", "x", "b1", "median_s"),
        ("duration", "x", "b1", "min_s"),
        ("cost", "x", "b1", "engaged_amount"),
        ("cost", "x", "b1", "cost_per_deliverable"),
    }
    assert rows["duration", "x", "b1", "median_s"]["ratio"] == "0.7500"
    assert rows["cost", "x", "b1", "engaged_amount"]["ratio"] == "0.5000"
    assert rows["cost", "x", "b1", "engaged_amount"]["unit"] == "USD"
    # Shown although it is the same; the rest of the stack isn't.
    assert rows["stack", "x", "", "driver"]["before"] == "570.1"
    assert ("stack", "x", "", "software.numpy") not in rows


def test_an_option_of_one_campaign_alone_has_no_ratio_but_a_reason(tmp_path):
    before = campaign(tmp_path / "old", options=[("x", "b1"), ("x", "b4")])
    after = campaign(tmp_path / "new", options=[("x", "b1"), ("y", "b1")], choice=False)
    rows = compared(before, after)
    gone = rows["duration", "x", "b4", "median_s"]
    assert (gone["before"], gone["after"], gone["ratio"]) == ("2.0", "", "")
    assert gone["reason"] == "this campaign doesn't tell it"
    assert rows["duration", "y", "b1", "median_s"]["reason"] == (
        "the earlier campaign doesn't tell it"
    )
    assert rows["decision", "", "", "choice"]["before"] == "b1 on x"
    assert rows["decision", "", "", "choice"]["after"] == ""


def test_a_zero_and_two_currencies_have_no_ratio(tmp_path):
    before = campaign(tmp_path / "old", median="0", cost="100.00")
    after = campaign(tmp_path / "new", cost="100.00", currency="EUR")
    rows = compared(before, after)
    assert rows["duration", "x", "b1", "median_s"]["ratio"] == ""
    amount = rows["cost", "x", "b1", "engaged_amount"]
    assert (amount["unit"], amount["ratio"], amount["changed"]) == ("EUR/USD", "", "true")


def test_an_earlier_campaign_that_is_not_here_is_named(tmp_path):
    after = campaign(tmp_path / "new")
    with pytest.raises(AtparError, match=r"summary\.csv: not here, but this campaign follows"):
        compare_campaigns(tmp_path / "old", after, after / "follows.csv")
