"""A variant with `resume` goes on where the variant that it recovers ended."""

import json
from dataclasses import replace

import numpy as np
import pytest
from span_faults import AFTER_3_BATCHES


def resume(campaign, **changes):
    """Measure the pass that goes on from b4's first one."""
    from atpar.engine.supervisor import measure_pass

    one = campaign.one_pass("half", **{"batch_size": 2, "recovers": "b4", "resume": True} | changes)
    failed = campaign.one_pass("b4")
    inputs = replace(
        one.inputs,
        resumed_record=str(failed.record),
        resumed_predictions=str(failed.predictions),
    )
    return measure_pass(replace(one, inputs=inputs))


@pytest.mark.parametrize("order", ["corpus", "length"])
def test_the_rest_is_computed_and_the_time_is_that_of_both(campaign, inject, order):
    whole = campaign.measure("whole")
    inject("atpar.engine.span", AFTER_3_BATCHES.format(fault="raise MemoryError('no room')"))
    failed = campaign.measure("b4", order=order)
    assert (failed["status"], failed["entries_completed"]) == ("out_of_memory", 12)
    assert failed["main_time_s"] is None and failed["span_s"] > 0
    inject.clear()

    record = resume(campaign)
    assert record["status"] == "ok", record
    assert record["resumed"] == {
        "attempt_id": failed["attempt_id"],
        "entries": 12,
        "span_s": failed["span_s"],
    }
    assert record["main_time_s"] > failed["span_s"]
    assert record["batches"] == 14, "28 entries, two at a time"
    for same in ("entries_completed", "tokens_real", "entries_truncated"):
        assert record[same] == whole[same]
    assert record["tokens_padded"] is None
    assert any(failed["attempt_id"] in note for note in record["notes"])
    tables = [campaign.predictions(variant) for variant in ("half", "whole")]
    assert tables[0].column("id").equals(tables[1].column("id"))
    assert tables[0].column("predicted").equals(tables[1].column("predicted"))
    scores = [np.array(table.column("scores").to_pylist()) for table in tables]
    np.testing.assert_allclose(*scores, atol=1e-5)


def test_after_a_pass_that_ended_well_nothing_is_left(campaign):
    done = campaign.measure("b4")
    record = resume(campaign)
    assert (record["status"], record["resumed"]["entries"]) == ("ok", campaign.entries)
    assert record["batches"] == 0
    assert done["main_time_s"] <= record["main_time_s"] < done["main_time_s"] + 1
    assert campaign.predictions("half").equals(campaign.predictions("b4"))


def test_entries_without_a_finite_score_are_computed_again(campaign, inject):
    inject(
        "atpar.engine.results",
        "_put = Scores.put\n"
        "def put(self, rows, scores):\n"
        "    _put(self, rows, np.where(rows[:, None] == 7, np.nan, scores))\n"
        "Scores.put = put",
    )
    campaign.measure("b4")
    inject.clear()
    record = resume(campaign)
    assert (record["resumed"]["entries"], record["batches"]) == (campaign.entries - 1, 1)
    assert campaign.predictions("half").column("predicted").null_count == 0


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda one: spoil_record(one, model_digest="x"), "has another model_digest"),
        (lambda one: spoil_record(one, evaluation_digest="x"), "has another evaluation_digest"),
        (lambda one: spoil_record(one, seal_digest="x"), "has another seal_digest"),
        (lambda one: one.predictions.write_bytes(b"else"), "isn't the file it wrote"),
    ],
    ids=["model", "corpus", "protocol", "predictions"],
)
def test_other_work_is_not_resumed(campaign, spoil, words):
    campaign.measure("b4")
    spoil(campaign.one_pass("b4"))
    record = resume(campaign)
    assert record["status"] == "refused"
    assert words in record["reason"]


def spoil_record(one, **changes):
    """Change what the record of a pass says."""
    one.record.write_text(json.dumps(json.loads(one.record.read_text()) | changes))


def test_without_a_pass_to_resume_it_is_refused(campaign):
    record = campaign.measure("half", recovers="b4", resume=True)
    assert record["status"] == "refused"
    assert "needs a pass of the recovered variant" in record["reason"]
