"""Every fault of a worker is a row with its status, and the next pass is clean."""

import json
import os
import threading

import pyarrow.parquet as pq
import pytest
from span_faults import AFTER_3_BATCHES

from atpar.engine.lock import lock_device, lock_folder
from atpar.journal.attempts import read_attempts

SPAN = "atpar.engine.span"


def assert_failed(campaign, record, status, phase, completed):
    """The row is there with what was reached, and so are the predictions made until then."""
    assert (record["status"], record["phase"]) == (status, phase), record
    assert record["reason"]
    assert record["main_time_s"] is None
    assert status in record["main_time_reason"]
    assert record["entries_completed"] == completed
    table = campaign.predictions()
    assert table.column("id").to_pylist() == [f"e{n:06d}" for n in range(completed)]
    assert pq.read_table(record["predictions_path"]).num_rows == completed
    assert read_attempts(campaign.journal)[-1] == record
    assert campaign.one_pass().record.exists(), "a failed pass is no failed job"


def assert_next_is_clean(campaign, attempts=2, **options):
    """The same pass tried again is a further attempt, complete and untouched by the failed one."""
    record = campaign.measure(**options)
    assert (record["status"], record["attempt_number"]) == ("ok", attempts), record
    assert campaign.predictions().num_rows == campaign.entries
    rows = read_attempts(campaign.journal)
    assert [row["attempt_number"] for row in rows] == list(range(1, attempts + 1))
    assert rows[-1] == record


LITTLE_MEMORY = """
import resource
_run = Span.run

def _limited(self, windows):
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + 300 * 2**20, resource.RLIM_INFINITY))
    return _run(self, windows)

Span.run = _limited
"""


def test_memory_that_runs_out(campaign, inject):
    """Real: under an address-space limit, a batch of everything needs more than there is."""
    campaign.write_corpus(4000)
    options = {"attention": "eager", "padding": "max_length"}
    inject(SPAN, LITTLE_MEMORY)
    record = campaign.measure(batch_size=4000, **options)
    assert_failed(campaign, record, "out_of_memory", "measured", 0)
    assert any("alloc" in line for line in record["log_tail"])
    # What a person would declare as the recovery; under the same limit it fits.
    assert_next_is_clean(campaign, batch_size=50, **options)


def test_a_segmentation_fault(campaign, inject):
    inject(SPAN, AFTER_3_BATCHES.format(fault="import ctypes; ctypes.string_at(0)"))
    record = campaign.measure()
    assert_failed(campaign, record, "signal", "measured", 12)
    assert (record["signal"], record["exit_code"]) == (11, None)
    assert any("Segmentation fault" in line for line in record["log_tail"])
    inject.clear()
    assert_next_is_clean(campaign)


def test_an_exception(campaign, inject):
    inject(SPAN, AFTER_3_BATCHES.format(fault="raise ValueError('odd batch')"))
    record = campaign.measure()
    assert_failed(campaign, record, "error", "measured", 12)
    assert record["reason"] == "ValueError: odd batch"
    assert record["exit_code"] == 1
    assert any("odd batch" in line for line in record["log_tail"])
    inject.clear()
    assert_next_is_clean(campaign)


def test_an_exit_that_looks_like_success(campaign, inject):
    inject(SPAN, AFTER_3_BATCHES.format(fault="import os; os._exit(0)"))
    record = campaign.measure()
    assert_failed(campaign, record, "error", "measured", 12)
    assert "left no result" in record["reason"]
    inject.clear()
    assert_next_is_clean(campaign)


def test_a_hang(campaign, inject):
    campaign.protocol["pass_timeout_s"] = 20.0
    inject(SPAN, AFTER_3_BATCHES.format(fault="time.sleep(1000)"))
    record = campaign.measure()
    assert_failed(campaign, record, "timeout", "measured", 12)
    assert 20 <= record["wall_time_s"] < 25
    campaign.protocol["pass_timeout_s"] = 120.0
    inject.clear()
    assert_next_is_clean(campaign)


@pytest.mark.parametrize("way", ["import os; os.kill(os.getpid(), 9)", "import os; os._exit(137)"])
def test_a_kill_is_no_lack_of_memory(campaign, inject, way):
    inject(SPAN, AFTER_3_BATCHES.format(fault=way))
    record = campaign.measure()
    assert_failed(campaign, record, "signal", "measured", 12)
    assert "no evidence" in record["reason"]
    killed = "kill(" in way
    assert record["signal"] == (9 if killed else None)
    assert record["exit_code"] == (None if killed else 137)
    inject.clear()
    assert_next_is_clean(campaign)


LIMIT_FILES = (
    "import resource\n"
    "_before = {name}\n"
    "def {name}(*arguments, **more):\n"
    "    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
    "    try:\n"
    "        return _before(*arguments, **more)\n"
    "    finally:\n"
    "        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
)


def test_a_disk_that_fills_up_while_predictions_are_written(campaign, inject):
    inject("atpar.engine.results", LIMIT_FILES.format(name="write_predictions"))
    record = campaign.measure()
    assert_failed(campaign, record, "error", "write", campaign.entries)
    assert "File too large" in record["reason"]
    inject.clear()
    assert_next_is_clean(campaign)


def test_a_disk_without_room_for_the_scores(campaign, inject):
    inject("atpar.engine.results", LIMIT_FILES.format(name="_allocate"))
    record = campaign.measure()
    assert_failed(campaign, record, "error", "load", 0)
    inject.clear()
    assert_next_is_clean(campaign)


def test_a_disk_that_fills_up_while_predictions_are_published(campaign, monkeypatch):
    from atpar.engine import supervisor

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(supervisor.shutil, "copyfile", full)
        record = campaign.measure()
    assert (record["status"], record["phase"]) == ("error", "write")
    assert "No space left" in record["reason"]
    assert record["main_time_s"] is None
    assert campaign.predictions().num_rows == 0
    assert_next_is_clean(campaign)


def test_a_disk_that_is_really_full_leaves_the_row(campaign, monkeypatch):
    from atpar.engine import salvage, supervisor

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(supervisor.shutil, "copyfile", full)
        patch.setattr(salvage, "write_predictions", full)
        campaign.measure()
    assert not campaign.one_pass().predictions.exists(), "for Snakemake the job has failed"
    (row,) = read_attempts(campaign.journal)
    assert (row["status"], row["phase"]) == ("error", "write")
    assert "No space left" in row["reason"]
    assert_next_is_clean(campaign)


def test_an_exported_model_that_was_changed(campaign):
    onnx = campaign.results / "model/onnx/model.onnx"
    onnx.parent.mkdir(parents=True, exist_ok=True)
    onnx.write_bytes(b"another model")
    onnx.with_name("export.json").write_text(json.dumps({"sha256": "0" * 64}))
    record = campaign.measure(backend="onnxruntime")
    assert_failed(campaign, record, "error", "start", 0)
    assert "not the file that" in record["reason"] and "export" in record["reason"]


def test_a_model_that_is_gone(campaign):
    weights = campaign.model / "model.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    record = campaign.measure()
    assert_failed(campaign, record, "error", "start", 0)
    assert "No such file" in record["reason"]
    weights.write_bytes(content)
    assert_next_is_clean(campaign)


def test_weights_that_changed_since_they_were_fingerprinted(campaign):
    weights = campaign.model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    record = campaign.measure()
    assert_failed(campaign, record, "error", "start", 0)
    assert "fingerprint" in record["reason"]
    content[-5] ^= 1
    weights.write_bytes(content)
    assert_next_is_clean(campaign)


def test_weights_that_are_cut_off(campaign):
    weights = campaign.model / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[: len(content) // 2])
    campaign.fingerprint()
    record = campaign.measure()
    assert_failed(campaign, record, "error", "load", 0)
    weights.write_bytes(content)
    campaign.fingerprint()
    assert_next_is_clean(campaign)


def test_a_model_without_a_trained_head(campaign):
    from safetensors.torch import load_file, save_file

    weights = campaign.model / "model.safetensors"
    content = weights.read_bytes()
    tensors = {name: one for name, one in load_file(weights).items() if "classifier" not in name}
    save_file(tensors, weights, {"format": "pt"})
    campaign.fingerprint()
    record = campaign.measure()
    assert_failed(campaign, record, "refused", "load", 0)
    assert "classifier" in record["reason"]
    weights.write_bytes(content)
    campaign.fingerprint()
    assert_next_is_clean(campaign)


def test_logits_that_are_not_numbers(campaign):
    """A failed check for the quality room, not a class: nothing is predicted."""
    from safetensors.torch import load_file, save_file

    weights = campaign.model / "model.safetensors"
    tensors = load_file(weights)
    tensors["classifier.bias"][:] = float("nan")
    save_file(tensors, weights, {"format": "pt"})
    campaign.fingerprint()
    record = campaign.measure()
    assert record["status"] == "ok"
    assert any("40 entries have a logit that is NaN" in note for note in record["notes"])
    assert campaign.predictions().column("predicted").null_count == 40


def test_a_device_that_is_taken(campaign):
    held = lock_device(lock_folder(str(campaign.folder / "locks")), "cpu")
    record = campaign.measure()
    assert_failed(campaign, record, "refused", "start", 0)
    assert "in use" in record["reason"]
    os.close(held)
    assert_next_is_clean(campaign)


def test_a_wait_for_the_device_is_no_import(campaign):
    held = lock_device(lock_folder(str(campaign.folder / "locks")), "cpu")
    release = threading.Timer(2.0, os.close, [held])
    release.start()
    record = campaign.measure()
    release.join()
    assert record["status"] == "ok", record
    assert record["phases_s"]["start"] > 1.0
    assert record["phases_s"]["import"] + record["phases_s"]["start"] < record["wall_time_s"]


def test_what_a_member_looks_at_after_its_work_is_not_in_the_clock(campaign, inject):
    crowded(campaign)
    inject(
        "atpar.engine.part",
        "_peaks = Part.remember_peaks\n"
        "def _slow(self):\n"
        "    time.sleep(2 if self.member else 0)\n"
        "    _peaks(self)\n"
        "Part.remember_peaks = _slow",
    )
    record = campaign.measure(processes=2)
    assert record["status"] == "ok", record
    assert record["main_time_s"] < 1.5
    [member] = record["members"]
    assert member["memory"]["peak_host_rss_measured_bytes"] > 0


def test_a_member_that_the_kernel_kills_for_memory(campaign, inject):
    crowded(campaign)
    inject(
        "atpar.engine.crew",
        "_kills = iter([5, 6])\n"
        "oom_kill_count = lambda: next(_kills)\n"
        "Crew.release = lambda self: self._members[0].kill()",
    )
    record = campaign.measure(processes=2)
    assert (record["status"], record["phase"]) == ("out_of_memory", "measured"), record
    assert "process 2" in record["reason"] and "grew by 1" in record["reason"]


def crowded(campaign):
    """Give the offer threads for two processes."""
    settings = campaign.settings
    campaign.settings = lambda *a, **o: {
        **(found := settings(*a, **o)),
        "offer": {**found["offer"], "threads": 2},
    }


def test_a_member_that_dies_ends_the_pass_as_its_own_end(campaign, inject):
    crowded(campaign)
    inject("atpar.engine.crew", "Crew.release = lambda self: self._members[0].kill()")
    record = campaign.measure(processes=2)
    assert (record["status"], record["phase"]) == ("signal", "measured"), record
    assert "process 2" in record["reason"]
    assert record["main_time_s"] is None
    inject.clear()
    assert_next_is_clean(campaign, processes=2)
