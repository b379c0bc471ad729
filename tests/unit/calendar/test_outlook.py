"""The stage that looks ahead, from tables to tables; and the real load's lengths."""

import csv
import json
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.calendar.outlook import look_ahead
from atpar.calendar.production import evaluation_lengths, measure_production, typical_lengths
from atpar.config.campaign import Production
from atpar.config.corpus import Corpus
from atpar.errors import AtparError

TARIFF = Path(__file__).parents[3] / "resources" / "tariffs" / "iteragpu-2026-09-24.csv"
OFFERS = [
    {"offer": "rtx", "provider": "iteragpu", "gpu": "rtx-4090", "lots": 2, "term_days": 7},
    {"offer": "b200", "provider": "iteragpu", "gpu": "b200", "term_days": 7},
]
VARIANTS = [
    {"variant": name, "batch_size": size, "order": "corpus", "padding": "longest",
     "max_length": None}
    for name, size in (("b1", 1), ("b8", 8))
]  # fmt: skip
OPTIONS = [("rtx", "b1", 10.0), ("rtx", "b8", 6.0), ("b200", "b1", 2.0), ("b200", "b8", 0.1)]


def rows(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def table(path, header, lines):
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return path


def decided(folder, *against):
    """Write a decision in which the options `against` aren't admissible."""
    options = [
        {"offer": offer, "variant": variant, "admissible": (offer, variant) not in against}
        for offer, variant, _ in OPTIONS
    ]
    (folder / "decision.json").write_text(json.dumps({"options": options}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    lengths = [10] * 600 + [80] * 300 + [300] * 100
    buckets = ["short"] * 600 + ["medium"] * 300 + ["long"] * 100
    order = np.random.default_rng(1).permutation(1000)
    entries = [{"tokens": lengths[one], "bucket": buckets[one]} for one in order]
    pq.write_table(pa.Table.from_pylist(entries), tmp_path / "reference.parquet")
    (tmp_path / "model.json").write_text('{"usable_length": 512}', encoding="utf-8")
    attempts = [
        f"{offer}/{variant}/{number}/1,{offer},{variant},{number},ok,true,{time * factor},"
        f"{time * factor + 5},1000,{60_000 if variant == 'b1' else 150_000},,"
        for offer, variant, time in OPTIONS
        for number, factor in enumerate((1.0, 0.95, 1.1), start=1)
    ]
    attempts.append("rtx/b8/4/1,rtx,b8,4,out_of_memory,false,,30,200,,,")
    table(
        tmp_path / "attempts.csv",
        "attempt_id,offer,variant,repetition,status,counted,main_time_s,wall_time_s,"
        "entries_completed,tokens_padded,started_utc,finished_utc",
        attempts,
    )
    table(
        tmp_path / "summary.csv",
        "offer,variant,entries,startup_median_s,metric_value",
        [f"{offer},{variant},1000,5,0.9" for offer, variant, _ in OPTIONS],
    )
    decided(tmp_path)
    table(
        tmp_path / "ledger.csv",
        "offer,item,amount",
        ["rtx,rental: passes,220.00", "b200,rental: passes,2071.00", "rtx,storage,"],
    )
    table(
        tmp_path / "window.csv",
        "offer,start_utc,end_utc,stopped_h",
        [f"{name},2026-12-07T08:00:00Z,2026-12-11T08:00:00Z,0" for name in ("rtx", "b200")],
    )
    return tmp_path


def look(folder, production=None, tokens=None, records=(), reference=True, tariffs=(TARIFF,)):
    look_ahead(
        attempts=folder / "attempts.csv",
        records=records,
        summary=folder / "summary.csv",
        decision=folder / "decision.json",
        ledger=folder / "ledger.csv",
        windows=folder / "window.csv",
        reference=reference and folder / "reference.parquet",
        model=folder / "model.json",
        tariffs=tariffs,
        production_tokens=tokens,
        forecast_table=folder / "forecast.csv",
        curves_table=folder / "breakeven.csv",
        outlook=folder / "outlook.json",
        offers=OFFERS,
        variants=VARIANTS,
        production=production,
        usual="b1",
        currency="USD",
        rates={},
    )
    outlook = json.loads((folder / "outlook.json").read_text(encoding="utf-8"))
    table = {(row["offer"], row["variant"]): row for row in rows(folder / "forecast.csv")}
    return table, outlook


def test_a_load_is_forecast_in_hours_packages_and_cost(folder):
    found, outlook = look(folder, {"entries": 36_000_000, "buckets": None})
    row = found["rtx", "b1"]
    assert row["label"] == "forecast" and row["extrapolates"] == "false"
    # 10 s a 1 000 entries: 100 h, between the quickest and the slowest pass.
    assert float(row["work_h"]) == pytest.approx(100, rel=0.01)
    assert float(row["work_h_low"]) <= 95 and float(row["work_h_high"]) >= 110
    # 96 h of window less the passes are needed besides: more than one 7-day package.
    assert (row["rented_as"], row["periods"]) == ("2 x 7-day package, priced one by one", "2")
    assert (row["amount"], row["cost_per_million_entries"]) == ("440.00", "12.22")
    assert found["b200", "b8"]["periods"] == "1"
    assert outlook["label"] == "forecast" and outlook["load"]["entries"] == 36_000_000


def test_longer_entries_take_longer_and_the_interval_is_wide(folder):
    same, _ = look(folder, {"entries": 1_000_000, "buckets": None})
    longer, _ = look(folder, {"entries": 1_000_000, "buckets": {"long": 1.0}})
    first, second = same["rtx", "b1"], longer["rtx", "b1"]
    assert float(second["work_h"]) == pytest.approx(5 * float(first["work_h"]), rel=0.02)
    assert float(second["work_h_low"]) < 1.1 * float(first["work_h"])
    assert second["extrapolates"] == "true"


def test_without_a_stated_load_there_is_no_forecast_but_still_curves(folder):
    found, outlook = look(folder)
    assert found == {} and outlook["load"] is None
    assert {row["label"] for row in rows(folder / "breakeven.csv")} == {"forecast"}
    first, *_, last = outlook["cheapest_by_load"]
    # Of equally cheap ways the quicker: both variants fit one package of rtx.
    assert (first["offer"], first["variant"]) == ("rtx", "b8")
    assert first["amount_at_from"] == "220.00"
    # Many packages of the slow card cost more than one of the fast.
    assert (last["offer"], last["variant"], last["to_entries"]) == ("b200", "b8", 10**9)


def test_the_campaign_has_its_own_line_and_a_load_that_repays_it(folder):
    _, outlook = look(folder)
    deciding = outlook["deciding"]
    assert (deciding["amount"], deciding["currency"]) == ("2291.00", "USD")
    best = deciding["repaid"][0]
    assert (best["instead_of"], best["chosen"]) == ("rtx/b1", "b200/b8")
    saving = Decimal(best["saving_per_million_entries"])
    assert best["entries_that_repay"] == ceil(Fraction(2291_000_000) / Fraction(saving))


def test_a_price_without_a_rate_is_left_out_of_the_comparison_and_named(folder):
    euros = folder / "euros.csv"
    euros.write_text(
        "#tariff separator=comma decimal=point\n"
        "provider,gpu,gpus_per_lot,billing,price,price_per,currency,priced_on,source\n"
        "iteragpu,b200,2,hourly,0.01,lot,EUR,2026-09-24,list\n",
        encoding="utf-8",
    )
    _, without = look(folder)
    _, outlook = look(folder, tariffs=[TARIFF, euros])
    assert outlook["cheapest_by_load"] == without["cheapest_by_load"]
    [said] = outlook["left_out"]
    assert said.startswith("b200: its hourly price in EUR") and "euros.csv, line 3" in said
    assert without["left_out"] == []


def test_without_the_corpus_at_hand_there_are_curves_and_no_forecast(folder):
    with_lengths = look(folder)[1]
    found, outlook = look(folder, {"entries": 10**9}, reference=None)
    assert found == {} and outlook["load"] is None
    # The curves rest on what the passes themselves padded.
    ways = [[(one["offer"], one["variant"], one["billing"]) for one in each["cheapest_by_load"]]
            for each in (outlook, with_lengths)]  # fmt: skip
    assert ways[0] == ways[1] and len(rows(folder / "breakeven.csv")) == 4 * 49


def test_options_that_are_not_admissible_are_never_the_cheapest(folder):
    decided(folder, ("rtx", "b8"), ("b200", "b8"))
    found, outlook = look(folder, {"entries": 1_000_000, "buckets": None})
    assert {one["variant"] for one in outlook["cheapest_by_load"]} == {"b1"}
    repaid = outlook["deciding"]["repaid"]
    assert [(one["instead_of"], one["chosen"]) for one in repaid] == [("b200/b1", "rtx/b1")]
    # Their own load is forecast all the same.
    assert ("rtx", "b8") in found
    curves = {(row["offer"], row["variant"]) for row in rows(folder / "breakeven.csv")}
    assert ("rtx", "b8") not in curves and ("rtx", "b1") in curves


def test_lengths_follow_the_shares_of_buckets(folder):
    lengths, buckets = evaluation_lengths(folder / "reference.parquet")
    assert len(lengths) == 1000 and 999 not in lengths
    mixed = typical_lengths(lengths, buckets, {"short": 0.25, "long": 0.75, "medium": 0.0})
    assert np.mean(mixed == 300) == pytest.approx(0.75) and 80 not in mixed
    with pytest.raises(AtparError, match="did you mean 'short'"):
        typical_lengths(lengths, buckets, {"shorts": 1.0})


def test_files_of_the_real_load_are_tokenized(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    corpus = Corpus(files=["load.csv"]).model_dump(mode="json")
    table(folder / "load.csv", "key,words", ["1,one two three", '2,"four five"'])
    measure_production(
        [str(folder / "load.csv")],
        {"id": "key", "text": "words"},
        corpus["dialect"],
        corpus["policy"],
        folder / "tokenizer.json",
        folder / "load.parquet",
    )
    assert pq.read_table(folder / "load.parquet")["tokens"].to_pylist() == [3, 2]
    _, outlook = look(folder, {"entries": None, "buckets": None}, folder / "load.parquet")
    assert outlook["load"] == {"entries": 2, "mean_tokens": 2.5, "longest_tokens": 3}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({}, "number of entries, or the files"),
        ({"entries": 1, "buckets": {"short": 0.5}}, "add up to 0.5, not 1"),
        ({"entries": 1, "buckets": {"short": 1.5, "long": -0.5}}, "can't be negative"),
        ({"files": ["a.csv"], "buckets": {"short": 1.0}}, "leave buckets out"),
    ],
)
def test_a_real_load_is_stated_in_one_way(cells, message):
    with pytest.raises(ValueError, match=message):
        Production(**cells)


def test_marks_along_the_passes_tell_entries_from_tokens(folder, tmp_path):
    """Within each pass of 1 000 entries, 5 s for the entries and 5 s for their tokens."""
    records = []
    for row in rows(folder / "attempts.csv"):
        if row["status"] != "ok":
            continue
        tokens, seconds = int(row["tokens_padded"]), float(row["main_time_s"])
        entries = int(row["entries_completed"])
        half = [entries // 2, tokens // 4, seconds * (0.25 + 0.125)]
        path = tmp_path / f"record-{len(records)}.json"
        marks = [half, [entries, tokens, seconds]]
        path.write_text(json.dumps({"attempt_id": row["attempt_id"], "marks": marks}))
        records.append(path)
    without, _ = look(folder, {"entries": 1_000_000, "buckets": {"long": 1.0}})
    found, _ = look(folder, {"entries": 1_000_000, "buckets": {"long": 1.0}}, records=records)
    wide, narrow = without["rtx", "b1"], found["rtx", "b1"]
    assert narrow["method"] == "entries and padded tokens"
    assert wide["method"].startswith("one corpus")

    def width(row):
        return float(row["work_h_high"]) - float(row["work_h_low"])

    assert width(narrow) < width(wide) / 2
    # Which entries a pass begins with says nothing of the padding of a load.
    assert narrow["padded_tokens"] == wide["padded_tokens"] == "300000000"
    # Half of the time goes with entries, so longer entries take less than tokens alone would say.
    assert float(narrow["work_h"]) < 0.7 * float(wide["work_h"])
