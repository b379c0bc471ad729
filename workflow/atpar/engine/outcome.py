"""How an attempt ended: the status of an exception, an exit code, or a signal.

Out of memory is a status only on evidence: the exception's class, then its causes, then the texts
that backends are known to use, then the control group's count of killed processes. An exit code of
137 or a SIGKILL alone proves nothing: people, schedulers and init systems send it too.
"""

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atpar.engine.cpus import cgroup_folders

OUT_OF_MEMORY_CLASSES = frozenset({"OutOfMemoryError", "MemoryError", "XlaOutOfMemoryError"})

DEVICE_TEXTS = (
    "cuda out of memory",
    "hip out of memory",
    "xpu out of memory",
    "mps backend out of memory",
    "cuda_error_out_of_memory",
    "hiperroroutofmemory",
    "cublas_status_alloc_failed",
    "hipblas_status_alloc_failed",
    "rocblas_status_memory_error",
    "cudnn_status_alloc_failed",
    "cudnn_status_internal_error_device_allocation_failed",
    "cuda error: out of memory",
    "hip error: out of memory",
    "nvml_error_memory",
    "outofmemoryerror",
)
HOST_TEXTS = (
    "defaultcpuallocator: can't allocate memory",
    "defaultcpuallocator: not enough memory",
    "std::bad_alloc",
    "cannot allocate memory",
    "unable to allocate",
    "failed to allocate memory",
    "memory allocation of",
)


@dataclass(frozen=True)
class Outcome:
    """Status of an attempt and, unless it is `ok`, why."""

    status: str
    reason: str | None = None


def outcome_of_exception(error: BaseException) -> Outcome:
    """Return the outcome for an exception in the worker, with the raw text as the reason."""
    text = raw_text(error)
    if isinstance(error, KeyboardInterrupt):
        return Outcome("interrupted", "interrupted by a person (SIGINT)")
    for one in causes(error):
        if type(one).__name__ in OUT_OF_MEMORY_CLASSES or names_out_of_memory(str(one)):
            return Outcome("out_of_memory", text)
    if "device-side assert" in text:
        return Outcome(
            "error",
            f"device error, not out of memory: {text}; an index beyond a table does this "
            "(token id, position, label): compare max_length and the tokenizer with the model",
        )
    return Outcome("error", text)


def raw_text(error: BaseException) -> str:
    """Return the exception as `class: message`, at most 2 000 characters of it."""
    message = str(error).strip()
    return f"{type(error).__name__}: {message}"[:2000] if message else type(error).__name__


def causes(error: BaseException) -> Iterator[BaseException]:
    """Return the exception and those it came from, outermost first."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop(0)
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__]


def names_out_of_memory(text: str) -> bool:
    """Tell whether a message is one by which a backend reports that memory ran out."""
    lower = text.lower()
    # The loader's complaint about thread-local storage is no lack of memory.
    if "static tls block" in lower:
        return False
    return any(known in lower for known in (*DEVICE_TEXTS, *HOST_TEXTS))


def outcome_of_exit(returncode: int, oom_kills: int | None, log: Sequence[str]) -> Outcome:
    """Return the outcome of a worker that left no result.

    `returncode` as Popen gives it (negative: a signal); `oom_kills`: by how much the control
    group's count of processes killed for memory grew meanwhile, None if it can't be read; `log`:
    the last lines that the worker wrote.
    """
    number = signal_of(returncode)
    if number == signal.SIGKILL and oom_kills:
        return Outcome(
            "out_of_memory",
            f"host out of memory: killed by the kernel ({_spelt(returncode)}; the control group's "
            f"oom_kill count grew by {oom_kills})",
        )
    line = next((line for line in log if _tells_out_of_memory(line)), None)
    if line is not None:
        return Outcome("out_of_memory", f"{_spelt(returncode)}; its log says: {line.strip()}")
    if number is not None:
        hint = "; no evidence that memory ran out" if number == signal.SIGKILL else ""
        return Outcome("signal", f"{_spelt(returncode)}{hint}")
    if returncode == 0:
        return Outcome("error", "the worker ended with exit code 0, but left no result")
    return Outcome("error", f"{_spelt(returncode)} without a result")


def _tells_out_of_memory(line: str) -> bool:
    """Tell whether a line of a log does; Python ends a traceback with the exception's class."""
    return names_out_of_memory(line) or line.startswith("MemoryError")


def signal_of(returncode: int) -> int | None:
    """Return the signal that a return code stands for; a shell spells 9 as 137."""
    number = -returncode if returncode < 0 else returncode - 128 if returncode > 128 else None
    return number if number in {one.value for one in signal.Signals} else None


def _spelt(returncode: int) -> str:
    number = signal_of(returncode)
    if returncode < 0:
        return (
            f"ended by {signal.Signals(number).name}"
            if number
            else f"ended by signal {-returncode}"
        )
    if number is not None:
        return f"exit code {returncode}, which stands for {signal.Signals(number).name}"
    return f"exit code {returncode}"


def oom_kill_count(folders: Sequence[Path] | None = None) -> int | None:
    """Return how many processes of this control group were killed for memory, None if unknown."""
    for folder in reversed(cgroup_folders() if folders is None else folders):
        for name in ("memory.events", "memory.oom_control"):
            try:
                lines = (folder / name).read_text().splitlines()
            except OSError:
                continue
            for line in lines:
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
    return None
