"""Every check of a prediction file fails for its own fault, and for nothing else."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.canonical import file_digest
from atpar.model.heads import head_of
from atpar.quality.check import check_pass
from atpar.quality.predictions import score_pairs


@pytest.fixture
def campaign(recorded):
    return recorded()


class Case:
    """One pass of the campaign, to be broken and checked."""

    def __init__(self, campaign, path):
        self.campaign = campaign
        self.path = path
        self.record = campaign.record("card", "b8", 1)
        table = campaign.table()
        self.ids = table["id"].to_pylist()
        self.predicted = table["predicted"].to_pylist()
        self.scores = np.array(table["scores"].to_pylist(), np.float32)
        self.table = None

    def add(self, name, row=0):
        """Add a row with the id `name`; the rest is that of `row`."""
        self.ids.append(name)
        self.predicted.append(self.predicted[row])
        self.scores = np.vstack([self.scores, self.scores[row]])
        self.record["entries_completed"] += 1

    def drop(self, row):
        """Remove a row."""
        del self.ids[row], self.predicted[row]
        self.scores = np.delete(self.scores, row, axis=0)
        self.record["entries_completed"] -= 1

    def check(self, make_table):
        """Write the file and check it against the campaign."""
        table = self.table
        if table is None:
            table = make_table(self.ids, self.predicted, self.scores)
        pq.write_table(table, self.path)
        if self.record["predictions_digest"] is None:
            self.record["predictions_digest"] = file_digest(self.path)
        return self.check_file()

    def check_file(self):
        """Check the file as it is."""
        expected = pa.array(self.campaign.ids, pa.large_string())
        model = json.loads((self.campaign.folder / "model/fingerprint.json").read_text())
        head = head_of(model, None)
        return check_pass(self.record, self.path, expected, head, self.campaign.digests)


def doubled(case):
    case.add(case.ids[3])


def missing(case):
    case.drop(17)


def foreign(case):
    case.add("another corpus' entry")


def absent(case):
    case.add(None)


def order(case):
    case.ids[5], case.ids[6] = case.ids[6], case.ids[5]


def unknown_label(case):
    case.predicted[4] = "weather"


def other_case_of_a_label(case):
    case.predicted[4] = case.predicted[4].upper()


def not_a_number(case):
    case.scores[9, 1] = np.nan


def infinite(case):
    case.scores[9, 1] = -np.inf


def not_the_largest(case):
    case.scores[9] = np.roll(case.scores[9], 1)


def record_says(**fields):
    def break_it(case):
        case.record |= fields

    break_it.__name__ = "record_says_" + "_".join(fields)
    return break_it


def fewer_classes(case):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(600), pa.float32()), 3)
    case.table = case.campaign.table().set_column(2, "scores", lists)


def no_ids(case):
    case.table = case.campaign.table().drop_columns("id")


def ids_as_numbers(case):
    numbers = pa.array(range(200), pa.int64())
    case.table = case.campaign.table().set_column(0, "id", numbers)


def classes_in_another_order(case):
    table = case.campaign.table()
    labels = json.loads(table.schema.metadata[b"labels"])
    case.table = table.replace_schema_metadata({"labels": json.dumps(labels[::-1])})


def classes_not_named(case):
    case.table = case.campaign.table().replace_schema_metadata({})


FAULTS = [
    (doubled, "ids_duplicates"),
    (missing, "ids_missing"),
    (foreign, "ids_foreign"),
    (absent, "ids_absent"),
    (order, "order"),
    (unknown_label, "labels"),
    (other_case_of_a_label, "labels"),
    (not_a_number, "scores_finite"),
    (infinite, "scores_finite"),
    (not_the_largest, "scores_argmax"),
    (fewer_classes, "format"),
    (no_ids, "format"),
    (ids_as_numbers, "format"),
    (classes_in_another_order, "format"),
    (classes_not_named, "format"),
    (record_says(status="out_of_memory", phase="measured"), "status"),
    (record_says(status="interrupted"), "status"),
    (record_says(entries_expected=199), "counts"),
    (record_says(entries_completed=199), "counts"),
    (record_says(entries_expected=100, entries_completed=300), "counts"),
    (record_says(evaluation_digest="0" * 64), "evaluation_digest"),
    (record_says(model_digest="0" * 64), "model_digest"),
    (record_says(seal_digest="0" * 64), "seal_digest"),
    (record_says(predictions_digest="0" * 64), "predictions_digest"),
]


def test_a_whole_pass_passes(campaign, recorded, tmp_path):
    found = Case(campaign, tmp_path / "whole.parquet").check(recorded.table)
    assert found["passed"] and found["failed"] == [] and found["problems"] == []
    assert found["expected_ids"] == found["observed_ids"] == 200
    assert found["ids_match"] and found["order_match"] and found["scores_finite"]


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_fault_fails_its_own_check_alone(campaign, recorded, tmp_path, fault, check):
    case = Case(campaign, tmp_path / "broken.parquet")
    fault(case)
    found = case.check(recorded.table)
    assert found["failed"] == [check]
    assert not found["passed"]
    assert found["problems"]


def emptied(content):
    return content[:0]


def cut_short(content):
    return content[: len(content) // 2]


def no_footer(content):
    return content[:-8] + bytes(8)


def zeros_within(content):
    return content[:4] + bytes(2000) + content[2004:]


@pytest.mark.parametrize("damage", [emptied, cut_short, no_footer, zeros_within])
def test_a_damaged_file_fails_its_checks_and_is_named(campaign, recorded, tmp_path, damage):
    case = Case(campaign, tmp_path / "damaged.parquet")
    assert case.check(recorded.table)["passed"]
    case.path.write_bytes(damage(case.path.read_bytes()))
    found = case.check_file()
    assert not found["passed"]
    assert {"predictions_digest", "format"} <= set(found["failed"])
    assert any("damaged.parquet can't be read" in problem for problem in found["problems"])


@pytest.fixture(scope="module")
def reference_measured(recorded_once):
    """A campaign of one repetition whose reference variant is measured."""
    campaign = recorded_once(protocol={"repetitions": 1})
    campaign.add_option("b1", [20.0])
    return campaign


SAID = {
    "status": "1 of 1 pass failed",
    "evaluation_digest": "Its passes ran over another evaluation corpus.",
    "model_digest": "Its passes ran another model than the reference's.",
    "seal_digest": "Its passes were measured under another sealed protocol.",
}
"""What the decision says of a fault that isn't called a matter of quality."""


@pytest.mark.parametrize(("fault", "check"), FAULTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_fault_is_said_in_the_decision_and_never_wins(
    reference_measured, recorded_once, tmp_path, fault, check
):
    """The broken pass takes half the time, so it would win if nobody looked."""
    campaign = reference_measured.copied(tmp_path / "results")
    case = Case(campaign, tmp_path / "broken.parquet")
    whole = dict(case.record)
    fault(case)
    table = case.table
    if table is None:
        table = recorded_once.table(case.ids, case.predicted, case.scores)
    changes = {name: value for name, value in case.record.items() if value != whole[name]}
    campaign.add_option("b8", [10.0], table=table, **changes)
    decision, text = campaign.decide()
    assert str(decision.choice) == "b1 on card"
    assert "**Chosen: b1 on card.**" in text and "Chosen: b8" not in text
    assert SAID.get(check, f"Its quality is rejected: {check}.") in text
    [broken] = [one for one in decision.options if one.variant == "b8"]
    assert not broken.admissible and broken.deliverables_accepted == 0


def test_facts_and_examples_of_wrong_ids(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "broken.parquet")
    doubled(case)
    foreign(case)
    missing(case)
    found = case.check(recorded.table)
    assert (found["duplicates"], found["missing"], found["foreign"]) == (1, 1, 1)
    assert found["examples"] == {
        "duplicates": ["003"],
        "missing": ["017"],
        "foreign": ["another corpus' entry"],
    }
    assert not found["ids_match"]
    assert found["observed_ids"] == 201


def test_a_doubled_id_leaves_the_sets_equal(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "broken.parquet")
    doubled(case)
    found = case.check(recorded.table)
    assert found["ids_match"] and not found["passed"]


def test_ids_are_compared_byte_for_byte(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "broken.parquet")
    case.ids[7] = "7"  # the expected id is 007
    found = case.check(recorded.table)
    assert found["failed"] == ["ids_missing", "ids_foreign"]


def test_a_tie_between_scores_is_no_fault(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "tie.parquet")
    case.scores[9] = 0.25
    assert case.check(recorded.table)["passed"]


def test_a_failing_row_is_named_with_its_id(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "broken.parquet")
    unknown_label(case)
    [problem] = case.check(recorded.table)["problems"]
    assert "004" in problem and "row 5" in problem and "weather" in problem


def test_many_failing_rows_are_counted_and_a_few_named(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "broken.parquet")
    case.scores[:150, 0] = np.nan
    [problem] = case.check(recorded.table)["problems"]
    assert "in 150 rows" in problem and problem.count("(row") == 5


def test_nothing_predicted_is_all_missing(campaign, recorded, tmp_path):
    case = Case(campaign, tmp_path / "empty.parquet")
    case.table = campaign.table(rows=0)
    case.record |= {"status": "error", "phase": "load", "entries_completed": 0}
    found = case.check(recorded.table)
    assert found["failed"] == ["status", "ids_missing"]
    assert found["missing"] == 200 and found["observed_ids"] == 0


def test_score_pairs_align_files_with_other_row_groups(campaign, tmp_path):
    table = campaign.table()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=90)
    pairs = list(score_pairs(tmp_path / "a.parquet", tmp_path / "b.parquet"))
    assert sum(len(first) for first, _ in pairs) == 200
    assert all(np.array_equal(first, second) for first, second in pairs)
