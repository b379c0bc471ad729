"""The evidence bag: complete without texts, and any changed digit is found."""

import csv
import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import bagit
import pytest

from atpar.canonical import digest
from atpar.commands import verify as command
from atpar.errors import AtparError
from atpar.report.bag import unpack_bag
from atpar.report.evidence import pack_evidence
from atpar.report.rebuild import STEPS
from atpar.report.verify import verify_bag

REBUILT = [name for step in STEPS.values() for name in step.files]


def pack(evidence: Any, output: Path, **changes: Any) -> Path:
    values = {
        "folder": evidence.folder,
        "files": evidence.files,
        "inputs": evidence.inputs,
        "output": output,
        "campaign": "demo",
        "steps": evidence.steps,
        "configuration": {"campaign": "demo"},
        "software": {"pandas": "0.0.1"},
        "texts": False,
        **changes,
    }
    pack_evidence(**values)
    return output


@pytest.fixture(scope="module")
def bag(evidence: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag that no test changes."""
    return pack(evidence, tmp_path_factory.mktemp("bag") / "evidence.zip")


@pytest.fixture
def opened(bag: Path, tmp_path: Path) -> Path:
    """Return the bag as a folder that a test may change."""
    return unpack_bag(bag, tmp_path)


def seal_anew(folder: Path) -> None:
    """Write the checksums of a changed bag again, as a careful forger would."""
    bagit.Bag(str(folder)).save(manifests=True)


def change_cell(path: Path, row: int, column: str, value: str) -> None:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[row][column] != value
    rows[row][column] = value
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def change_json(path: Path, change) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def test_untouched_bag_holds(bag: Path) -> None:
    found = verify_bag(bag)
    assert found.problems == []
    assert found.rebuilt == {name: [] for name in REBUILT}
    assert found.holds


def test_unpacked_bag_holds_too(opened: Path) -> None:
    assert verify_bag(opened).holds


def test_other_software_is_noted_and_no_fault(bag: Path) -> None:
    (note,) = verify_bag(bag).notes
    assert "pandas" in note and "0.0.1" in note


def test_bag_is_the_same_every_time(evidence: Any, bag: Path, tmp_path: Path) -> None:
    assert pack(evidence, tmp_path / "again.zip").read_bytes() == bag.read_bytes()


def test_bag_holds_what_the_decision_rests_on(opened: Path) -> None:
    data = opened / "data"
    names = {path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()}
    for needed in (
        "manifest.json", "attempts.csv", "ledger.csv", "decision.json", "decision.md",
        "report.html", "journal/one-thread.jsonl", "predictions/one-thread/batch-1/1.parquet",
        "quality/one-thread/batch-1.json", "checks/one-thread/batch-1.json",
        "inputs/expenses/0-expenses.tsv", "protocol/seal.json",
    ):  # fmt: skip
        assert needed in names
    manifest = json.loads((data / "manifest.json").read_text())
    assert manifest["sources"][0]["sha256"] == "89" * 32
    assert manifest["model_digest"] == "23" * 32
    (tariff,) = manifest["inputs"]["tariffs"]
    assert tariff["sha256"] == hashlib.sha256((data / tariff["path"]).read_bytes()).hexdigest()


def test_texts_stay_out_unless_asked_for(evidence: Any, bag: Path, tmp_path: Path) -> None:
    def content(archive: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(archive) as packed:
            return {name: packed.read(name) for name in packed.namelist()}

    without = content(bag)
    assert all(b"private text" not in value for value in without.values())
    (hashes,) = [value for name, value in without.items() if name.endswith("corpus/entries.csv")]
    rows = list(csv.reader(io.StringIO(hashes.decode())))
    assert rows[2] == ["id-1", hashlib.sha256("dédicace".encode()).hexdigest()]

    asked = content(pack(evidence, tmp_path / "texts.zip", texts=True))
    assert any(name.endswith("corpus/evaluation.parquet") for name in asked)
    assert any(name.endswith("corpus/reference.parquet") for name in asked)
    assert any(b"private text" in value for value in asked.values())


def test_changed_digit_breaks_a_checksum(opened: Path) -> None:
    change_cell(opened / "data/summary.csv", 0, "median_s", "18.7")
    found = verify_bag(opened)
    assert not found.holds and found.rebuilt == {}
    assert "data/summary.csv" in found.problems[0]


@pytest.mark.parametrize(
    ("name", "row", "column", "value"),
    [
        ("attempts.csv", 4, "main_time_s", "9.9"),
        ("attempts.csv", 4, "counted", "false"),
        ("summary.csv", 0, "median_s", "18.7"),
        ("summary.csv", 2, "quality_verdict", "rejected"),
        ("deliverables.csv", 0, "accepted", "false"),
        ("separation.csv", 1, "separated", "false"),
        ("window.csv", 0, "window_h", "1.000000"),
        ("calendar.csv", 0, "basis", "measured"),
        ("ledger.csv", 0, "amount", "12.34"),
        ("balance.csv", 1, "engaged_amount", "12.34"),
        ("packages.csv", 0, "amount", "12.34"),
    ],
)
def test_changed_cell_is_found_though_checksums_were_written_anew(
    opened: Path, name: str, row: int, column: str, value: str
) -> None:
    change_cell(opened / "data" / name, row, column, value)
    seal_anew(opened)
    found = verify_bag(opened)

    assert found.problems == []
    assert not found.holds
    (first, *_) = found.rebuilt[name]
    assert first.startswith(f"{name}, row {row + 1} (")
    assert column in first and repr(value) in first


def test_change_downstream_is_found_there_alone(opened: Path) -> None:
    change_cell(opened / "data/balance.csv", 1, "engaged_amount", "12.34")
    seal_anew(opened)
    rebuilt = verify_bag(opened).rebuilt
    assert [name for name, found in rebuilt.items() if found] == ["balance.csv"]


def test_changed_group_is_found_by_its_place(opened: Path) -> None:
    change_json(opened / "data/separation.json", lambda value: value["groups"][0].reverse())
    change_json(
        opened / "data/separation.json",
        lambda value: value["groups"][0].__setitem__(0, ["one-thread", "batch-8"]),
    )
    seal_anew(opened)
    (first, *_) = verify_bag(opened).rebuilt["separation.json"]
    assert first.startswith("separation.json: groups[0][0]")


def test_changed_choice_is_found_in_both_forms(opened: Path) -> None:
    change_json(
        opened / "data/decision.json", lambda value: value["leading"][0].update(variant="batch-8")
    )
    note = opened / "data/decision.md"
    note.write_text("# Decision: another\n" + note.read_text(encoding="utf-8").split("\n", 1)[1])
    seal_anew(opened)
    rebuilt = verify_bag(opened).rebuilt
    assert rebuilt["decision.json"][0].startswith("decision.json: leading[0].variant: the bag says")
    assert rebuilt["decision.md"][0].startswith("decision.md, line 1: the bag says")


def test_missing_table_is_found(opened: Path) -> None:
    (opened / "data/separation.csv").unlink()
    seal_anew(opened)
    assert verify_bag(opened).rebuilt["separation.csv"] == ["separation.csv: it isn't in the bag"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("seal", "the sealed content doesn't have the seal's digest"),
        ("other seal", "not the seal that manifest.json names"),
        ("record", "not as the journal tells of one-thread/batch-1/1/1"),
        ("model", "its model_digest isn't the bag's"),
        ("predictions", "not the file that one-thread/batch-1/1/1 wrote"),
        ("no predictions", "predictions/one-thread/batch-1/1.parquet: missing"),
    ],
)
def test_evidence_that_doesn_t_belong_together_is_found(
    opened: Path, change: str, said: str
) -> None:
    data = opened / "data"
    predictions = data / "predictions/one-thread/batch-1/1.parquet"
    if change == "seal":
        change_json(
            data / "protocol/seal.json", lambda seal: seal["sealed"]["protocol"].update(minimum=0)
        )
    elif change == "other seal":

        def other(seal):
            seal["sealed"]["protocol"]["minimum"] = 0
            seal["digest"] = digest(seal["sealed"])

        change_json(data / "protocol/seal.json", other)
    elif change == "record":
        change_json(
            data / "passes/one-thread/batch-1/1.json", lambda one: one.update(main_time_s=1.0)
        )
    elif change == "model":
        change_json(data / "manifest.json", lambda one: one.update(model_digest="00"))
    elif change == "predictions":
        predictions.write_bytes(predictions.read_bytes() + b"\0")
    else:
        predictions.unlink()
    seal_anew(opened)
    found = verify_bag(opened)
    assert not found.holds
    assert any(said in one for one in found.problems)


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "no manifest.json"), ("{", "isn't JSON"), ('{"definition": 9}', "definition 1")],
)
def test_bag_of_something_else_is_refused(opened: Path, content: str | None, said: str) -> None:
    path = opened / "data/manifest.json"
    path.unlink() if content is None else path.write_text(content)
    seal_anew(opened)
    with pytest.raises(AtparError, match=said):
        verify_bag(opened)


@pytest.mark.parametrize("steps", [{}, {"separate_options": {"options": 5}}, {"keep_ledger": []}])
def test_nonsense_in_the_manifest_is_a_difference_and_no_crash(opened: Path, steps: dict) -> None:
    change_json(opened / "data/manifest.json", lambda one: one["steps"].update(steps))
    if not steps:
        change_json(opened / "data/manifest.json", lambda one: one.update(steps={}))
    seal_anew(opened)
    found = verify_bag(opened)
    assert not found.holds
    assert any("can't be computed" in text for one in found.rebuilt.values() for text in one)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("protocol/seal.json", None),
        ("protocol/seal.json", "[]"),
        ("passes/one-thread/batch-1/1.json", "{"),
        ("journal/one-thread.jsonl", "{}\nnot json\n{}\n"),
    ],
)
def test_unreadable_evidence_is_a_problem_and_no_crash(
    opened: Path, name: str, content: str | None
) -> None:
    path = opened / "data" / name
    path.unlink() if content is None else path.write_text(content)
    seal_anew(opened)
    found = verify_bag(opened)
    assert not found.holds
    assert "can't be read" in found.problems[0]


def test_input_outside_the_bag_isn_t_read(opened: Path) -> None:
    change_json(
        opened / "data/manifest.json",
        lambda one: one["inputs"].update(expenses=[{"path": "../../../etc/hostname"}]),
    )
    seal_anew(opened)
    (first,) = verify_bag(opened).rebuilt["ledger.csv"]
    assert "outside the bag" in first


def test_campaign_without_a_journal_has_nothing_to_prove(evidence: Any, tmp_path: Path) -> None:
    with pytest.raises(AtparError, match="no journal"):
        pack(evidence, tmp_path / "bag.zip", folder=tmp_path, files=[], inputs={})


def test_machine_without_the_corpus_packs_no_hashes(
    evidence: Any, bag: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(evidence.folder, tmp_path / "demo"))
    (folder / "corpus/evaluation.parquet").unlink()
    here = {
        "folder": folder,
        "files": [folder / path.relative_to(evidence.folder) for path in evidence.files],
    }
    other = pack(evidence, tmp_path / "bag.zip", **here)
    with zipfile.ZipFile(bag) as one, zipfile.ZipFile(other) as two:
        missing = set(one.namelist()) - set(two.namelist())
    assert missing == {"demo-evidence/data/corpus/entries.csv"}
    assert verify_bag(other).holds
    with pytest.raises(AtparError, match="evidence: hashes"):
        pack(evidence, tmp_path / "texts.zip", texts=True, **here)


class Arguments:
    """Parsed flags of `atpar verify`."""

    def __init__(self, bag: Path, json: bool = False) -> None:
        self.bag = bag
        self.json = json


def test_command_says_what_holds(bag: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(Arguments(bag)) == 0
    said = capsys.readouterr().out
    assert "equal:   summary.csv" in said
    assert said.rstrip().endswith("all follows from its attempts")


def test_command_names_the_changed_cell(opened: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_cell(opened / "data/summary.csv", 0, "median_s", "18.7")
    seal_anew(opened)
    assert command.run(Arguments(opened)) == 1
    assert "differs: summary.csv, row 1 (one-thread / batch-1), median_s" in capsys.readouterr().out
    assert command.run(Arguments(opened, json=True)) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is False
