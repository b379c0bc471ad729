"""The journal keeps every line, through kills, torn writes and writers side by side."""

import json
import os
import signal
import subprocess
import sys

import pytest

from atpar.errors import AtparError
from atpar.journal import attempts, journal


def started(variant="b8", repetition=1, number=1, offer="here"):
    name = attempts.attempt_id(offer, variant, repetition, number)
    record = {
        "attempt_id": name,
        "offer": offer,
        "variant": variant,
        "repetition": repetition,
        "attempt_number": number,
        "status": None,
        "phase": "start",
        "notes": [],
    }
    return {"event": "started", "attempt_id": name, "record": record}


def finished(event, **fields):
    record = {**event["record"], "status": "ok", "phase": "done", **fields}
    return {"event": "finished", "attempt_id": event["attempt_id"], "record": record}


def test_events_come_back_in_order(tmp_path):
    path = tmp_path / "new" / "here.jsonl"
    for number in range(3):
        journal.append(path, {"event": "started", "text": "é\n\u2028", "number": number})
    assert [event["number"] for event in journal.read(path)] == [0, 1, 2]
    assert path.read_bytes().count(b"\n") == 3


def test_a_missing_journal_is_empty(tmp_path):
    assert journal.read(tmp_path / "none.jsonl") == []


def test_not_a_number_is_refused_and_nothing_is_added(tmp_path):
    path = tmp_path / "here.jsonl"
    with pytest.raises(ValueError, match="JSON"):
        journal.append(path, {"event": "finished", "value": float("nan")})
    assert journal.read(path) == []


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_last_line_is_passed_over_and_closed_by_the_next_writer(tmp_path, cut):
    path = tmp_path / "here.jsonl"
    journal.append(path, {"event": "a"})
    journal.append(path, {"event": "b", "padding": "x" * 30})
    os.truncate(path, path.stat().st_size - cut)
    if cut > 1:
        assert [event["event"] for event in journal.read(path)] == ["a"]
    journal.append(path, {"event": "c"})
    journal.append(path, {"event": "d"})
    # A line that lacks only its newline is whole: nothing of it was lost.
    expected = ["a", "b", "c", "d"] if cut == 1 else ["a", "c", "d"]
    assert [event["event"] for event in journal.read(path)] == expected


def test_a_torn_repair_is_repaired(tmp_path):
    path = tmp_path / "here.jsonl"
    path.write_bytes(b'{"event":"a"}\n{"event":\n{"event":"to')
    assert [event["event"] for event in journal.read(path)] == ["a"]
    journal.append(path, {"event": "b"})
    assert [event["event"] for event in journal.read(path)] == ["a", "b"]


@pytest.mark.parametrize("damage", [b"{broken", b"[1,2]", b"\x00\x00"])
def test_damage_before_the_end_is_named(tmp_path, damage):
    path = tmp_path / "here.jsonl"
    path.write_bytes(b'{"event":"a"}\n' + damage + b'\n{"event":"b"}\n')
    with pytest.raises(AtparError, match="line 2"):
        journal.read(path)


APPEND_MANY = """
import sys
from atpar.journal import journal
for number in range(50):
    event = {"event": "x", "writer": sys.argv[2], "number": number, "pad": "y" * 5000}
    journal.append(sys.argv[1], event)
"""


def test_writers_side_by_side_lose_and_mix_nothing(tmp_path):
    path = tmp_path / "here.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", APPEND_MANY, str(path), name]) for name in "abc"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    events = journal.read(path)
    for name in "abc":
        assert [e["number"] for e in events if e["writer"] == name] == list(range(50))


def test_a_full_disk_is_one_message_and_leaves_the_journal_readable(tmp_path):
    path = tmp_path / "here.jsonl"
    journal.append(path, {"event": "a"})
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size + 10},) * 2)\n"
        "from atpar.errors import AtparError\n"
        "from atpar.journal import journal\n"
        "try:\n"
        f"    journal.append({str(path)!r}, {{'event': 'b', 'pad': 'z' * 100}})\n"
        "except AtparError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "disk space" in done.stdout
    assert [event["event"] for event in journal.read(path)] == ["a"]
    journal.append(path, {"event": "c"})
    assert [event["event"] for event in journal.read(path)] == ["a", "c"]


def test_attempts_merge_start_and_finish(tmp_path):
    path = tmp_path / "here.jsonl"
    first, second = started(number=1), started(number=2)
    journal.append(path, first)
    journal.append(path, finished(first, status="error"))
    journal.append(path, second)
    journal.append(path, finished(second, main_time_s=1.5))
    rows = attempts.read_attempts(path)
    assert [(row["attempt_number"], row["status"]) for row in rows] == [(1, "error"), (2, "ok")]


def test_an_attempt_without_a_finish_is_interrupted(tmp_path):
    path = tmp_path / "here.jsonl"
    journal.append(path, started())
    (row,) = attempts.read_attempts(path)
    assert row["status"] == "interrupted"
    assert "no end" in row["reason"]


def test_a_finish_without_a_start_is_named(tmp_path):
    path = tmp_path / "here.jsonl"
    journal.append(path, finished(started()))
    with pytest.raises(AtparError, match="never started"):
        attempts.read_attempts(path)


def test_numbers_count_the_attempts_of_one_pass(tmp_path):
    path = tmp_path / "here.jsonl"
    assert attempts.next_number(path, "b8", 1) == 1
    journal.append(path, started(number=1))
    journal.append(path, started(variant="b1", number=1))
    assert attempts.next_number(path, "b8", 1) == 2
    assert attempts.next_number(path, "b8", 2) == 1


def _no_salvage(_record, _folder):
    return {}


def test_reconcile_records_the_killed_and_leaves_the_living(tmp_path):
    path = tmp_path / "here.jsonl"
    dead, living = started(number=1), started(number=2)
    folders = {}
    for event in (dead, living):
        journal.append(path, event)
        folder = tmp_path / str(event["record"]["attempt_number"])
        folder.mkdir()
        folders[event["attempt_id"]] = folder
    (folders[dead["attempt_id"]] / "progress.json").write_text(
        json.dumps(
            {
                "phase": "measured",
                "entries_completed": 7,
                "at_utc": "2026-01-01T00:00:00Z",
                "wall_time_s": 3.5,
            }
        )
    )

    def folder_of(record):
        return folders[record["attempt_id"]]

    with attempts.alive(folders[living["attempt_id"]]):
        (row,) = attempts.reconcile(path, folder_of, _no_salvage)
    assert row["attempt_number"] == 1
    assert (row["status"], row["phase"], row["entries_completed"]) == ("interrupted", "measured", 7)
    assert row["wall_time_s"] == 3.5
    assert len(attempts.reconcile(path, folder_of, _no_salvage)) == 1, "the lock was freed since"
    assert attempts.reconcile(path, folder_of, _no_salvage) == []


def test_the_lock_of_an_attempt_dies_with_its_holder(tmp_path):
    code = (
        "import pathlib, time\n"
        "from atpar.journal.attempts import alive\n"
        f"with alive(pathlib.Path({str(tmp_path)!r})):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert attempts.is_alive(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert not attempts.is_alive(tmp_path)
    assert not attempts.is_alive(tmp_path / "missing")


@pytest.mark.parametrize("part", ["event", "attempt_id", "record"])
@pytest.mark.parametrize("reader", [attempts.read_attempts, attempts.unfinished])
@pytest.mark.parametrize("last", [False, True])
def test_an_event_that_lacks_a_part_is_a_damaged_journal(tmp_path, part, reader, last):
    path = tmp_path / "here.jsonl"
    events = [started(), finished(started())]
    del events[last][part]
    journal.extend(path, events)
    with pytest.raises(AtparError, match=r"here\.jsonl: an event .* restore it from a copy"):
        reader(path)
    with pytest.raises(AtparError, match="restore it from a copy"):
        attempts.next_number(path, "b8", 1)
