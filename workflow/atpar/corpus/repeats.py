"""Which of millions of texts or ids repeat, told by 64-bit hashes: 8 bytes each, one fast sort."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pandas.util import hash_array


def hashes(text: pa.Array) -> np.ndarray:
    """Return a 64-bit hash of each text (uint64).

    Two different ones among 5e6 share a hash with a probability below 1e-6.
    """
    return hash_array(text.to_numpy(zero_copy_only=False), categorize=False)


def together(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the hashes of all parts as one array, in order."""
    return np.concatenate([np.empty(0, np.uint64), *parts])


def count_repeats(values: np.ndarray) -> int:
    """Return how many hashes repeat an earlier one."""
    ordered = np.sort(values)
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def later_places(values: np.ndarray) -> np.ndarray:
    """Return the places of hashes that repeat an earlier one, ascending."""
    _, first = np.unique(values, return_index=True)
    repeated = np.ones(len(values), bool)
    repeated[first] = False
    return np.flatnonzero(repeated)
