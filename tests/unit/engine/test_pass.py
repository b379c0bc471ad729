"""A whole pass in a worker of its own, on a tiny real model."""

import json

import numpy as np
import pytest

from atpar.engine.clocks import PHASES
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
    inside = sum(measured["phases_s"][phase] for phase in PHASES[-5:])
    assert 0 < inside <= measured["main_time_s"]
    assert inside > 0.8 * measured["main_time_s"], "most of the span belongs to a phase"
    outside = sum(measured["phases_s"][p] or 0 for p in ("import", "load", "warm_up"))
    assert measured["main_time_s"] + outside <= measured["wall_time_s"]
    assert measured["phases_s"]["compile"] is None
    assert "compiles nothing" in measured["phase_reasons"]["compile"]
    assert measured["entries_completed"] == measured["entries_expected"] == 40
    assert measured["tokens_real"] < measured["tokens_padded"]
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
    if options["batch_size"] == 1:
        assert record["tokens_padded"] == record["tokens_real"]
    if options.get("padding") == "max_length":
        assert record["tokens_padded"] == 40 * built_campaign.positions


@pytest.mark.usefixtures("measured")
def test_bf16_computes_in_bf16(built_campaign):
    record = built_campaign.measure("half", precision="bf16")
    assert (record["status"], record["dtype_used"]) == ("ok", "bfloat16")
    expected = np.array(built_campaign.predictions("plain").column("scores").to_pylist())
    scores = np.array(built_campaign.predictions("half").column("scores").to_pylist())
    assert 1e-6 < np.abs(scores - expected).max() < 0.2


def test_truncated_entries_are_counted(built_campaign, measured):
    record = built_campaign.measure("short", max_length=8)
    words = [len(text.split()) for text in built_campaign.texts(40)]
    assert record["entries_truncated"] == sum(number > 6 for number in words)
    assert measured["entries_truncated"] == 0
    assert record["tokens_real"] == sum(min(number + 2, 8) for number in words)
