"""A worker keeps the memory of one batch for the next, where the C library can be told to."""

import os
import platform
import subprocess
import sys

import pytest

from atpar.engine.job import ALLOCATOR, worker_environment

BATCHES = """
import resource

def layer():
    return b"x" * 48_000_000

layer()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    layer()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages_taken(environment):
    """Return how many pages the system handed out for twenty buffers of the same size."""
    ended = subprocess.run(
        [sys.executable, "-c", BATCHES], env=environment, capture_output=True, text=True, check=True
    )
    return int(ended.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library allocates here")
def test_a_layers_memory_is_not_taken_from_the_system_again():
    plain = {name: value for name, value in os.environ.items() if name not in ALLOCATOR}
    kept = pages_taken(plain | worker_environment(1, deterministic=True))
    assert kept < pages_taken(plain) / 10
