"""Token counts of texts, by the model's own tokenizer."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

CHUNK = 20_000
"""Texts encoded at once: bounds the memory that the encodings take (some 100 MB)."""


class TokenCounter:
    """Counts tokens as the model reads them, special tokens included, never truncated."""

    def __init__(self, tokenizer: str | Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.special = self._tokenizer.num_special_tokens_to_add(False)

    def count(self, texts: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """Return the number of tokens of each text (int32)."""
        counts = np.empty(len(texts), np.int32)
        for start in range(0, len(texts), CHUNK):
            chunk = texts.slice(start, CHUNK).to_pylist()
            encoded = self._tokenizer.encode_batch_fast(chunk)
            counts[start : start + len(chunk)] = np.fromiter(map(len, encoded), np.int32)
        return counts

    def ids(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts))]
