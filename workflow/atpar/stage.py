"""What every rule's script does around its one call: settings, log, and one-message errors."""

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atpar.errors import AtparError

ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Environment variables of every rule's script, unless the user sets them.

pyarrow's own allocator asks the system for huge pages, and clearing them took half of the time of
checks on a virtual machine (benchmarks/README.md, "Large corpora"). The C library's doesn't ask."""


@contextmanager
def stage(snakemake: Any) -> Iterator[dict[str, Any]]:
    """Give the rule's settings; write what goes wrong to the rule's log and to the terminal.

    AtparError is for a person: its message alone, exit status 1. Any other exception is a bug:
    the traceback goes to both, exit status 1.
    """
    log = Path(str(snakemake.log[0]))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as stream:
        try:
            yield json.loads(snakemake.params.settings)
        except AtparError as error:
            _say(stream, f"error: {error}")
        except Exception:
            _say(stream, traceback.format_exc().rstrip())
        else:
            return
    sys.exit(1)


def _say(log: Any, text: str) -> None:
    print(text, file=log)
    print(text, file=sys.stderr, flush=True)
