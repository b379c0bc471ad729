"""Every end has its status; out of memory needs evidence (M05, M06, M08)."""

import signal
import subprocess

import pytest

from atpar.engine.outcome import (
    oom_kill_count,
    outcome_of_exception,
    outcome_of_exit,
    signal_of,
)


class OutOfMemoryError(RuntimeError):
    """As torch names its own."""


@pytest.mark.parametrize(
    "error",
    [
        OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("HIP out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.98 GiB total)"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("run_func_() API call failed: CUDA driver error: CUDA_ERROR_OUT_OF_MEMORY"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"
        ),
        MemoryError(),
        MemoryError("Unable to allocate 8.00 GiB for an array"),
    ],
    ids=lambda error: str(error)[:30] or "MemoryError",
)
def test_memory_that_ran_out_is_known_by_class_or_text(error):
    outcome = outcome_of_exception(error)
    assert outcome.status == "out_of_memory"
    assert str(error) in outcome.reason, "the raw text stays"


def test_a_cause_counts_and_a_loop_of_causes_ends():
    outer = ValueError("batch failed")
    outer.__cause__ = OutOfMemoryError("CUDA out of memory")
    outer.__cause__.__context__ = outer
    assert outcome_of_exception(outer).status == "out_of_memory"


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (RuntimeError("CUDA error: device-side assert triggered"), "max_length"),
        (ImportError("libgomp.so.1: cannot allocate memory in static TLS block"), "static TLS"),
        (ValueError("Cannot handle batch sizes > 1 if no padding token is defined."), "padding"),
    ],
)
def test_other_errors_are_no_lack_of_memory(error, part):
    outcome = outcome_of_exception(error)
    assert outcome.status == "error"
    assert part in outcome.reason


@pytest.mark.parametrize("command", ["kill -9 $$", "exit 137"])
def test_a_kill_alone_proves_nothing(command):
    code = subprocess.run(["bash", "-c", command], check=False).returncode
    assert signal_of(code) == signal.SIGKILL
    outcome = outcome_of_exit(code, oom_kills=0, log=["computing"])
    assert outcome.status == "signal"
    assert "no evidence" in outcome.reason
    assert outcome_of_exit(code, oom_kills=None, log=[]).status == "signal"


def test_a_kill_by_the_kernel_for_memory_has_evidence():
    outcome = outcome_of_exit(-9, oom_kills=1, log=[])
    assert outcome.status == "out_of_memory"
    assert "host" in outcome.reason


def test_an_abort_for_memory_is_known_by_the_log():
    log = ["terminate called after throwing an instance of 'std::bad_alloc'"]
    assert outcome_of_exit(-6, oom_kills=0, log=log).status == "out_of_memory"
    assert outcome_of_exit(-6, oom_kills=0, log=["assertion"]).status == "signal"
    assert outcome_of_exit(1, oom_kills=0, log=["MemoryError"]).status == "out_of_memory"


def test_a_limit_on_processes_is_no_lack_of_memory():
    assert outcome_of_exception(RuntimeError("can't start new thread")).status == "error"


@pytest.mark.parametrize(
    ("code", "status", "part"),
    [(-11, "signal", "SIGSEGV"), (3, "error", "exit code 3"), (0, "error", "left no result")],
)
def test_other_ends(code, status, part):
    outcome = outcome_of_exit(code, oom_kills=2, log=[])
    assert outcome.status == status
    assert part in outcome.reason


def test_the_count_of_kills_is_read_from_the_innermost_group(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "memory.events").write_text("low 0\noom 9\noom_kill 9\n")
    (inner / "memory.events").write_text("oom 3\noom_kill 2\n")
    assert oom_kill_count([tmp_path, inner]) == 2
    (inner / "memory.events").unlink()
    assert oom_kill_count([tmp_path, inner]) == 9
    assert oom_kill_count([]) is None
