"""Token ids of a corpus, by the `tokenizers` library alone: no import of transformers."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from atpar.engine.refused import Refused
from atpar.model.probes import probe_digest

WITHOUT_LIMIT = 10**6
"""A stored limit above this means that none was stored."""


@dataclass(frozen=True)
class Encoded:
    """Token ids of some entries; `truncated` counts those cut to the maximum length.

    `types` is None where every token's type is 0, which models take when none is given.
    """

    ids: list[np.ndarray]
    types: list[np.ndarray] | None
    truncated: int

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each entry, special tokens included."""
        return np.array([len(one) for one in self.ids], np.int64)

    def part(self, members: np.ndarray) -> "Encoded":
        """Return the entries at these indices; how many of them are truncated isn't known."""
        types = None if self.types is None else [self.types[one] for one in members]
        return Encoded([self.ids[one] for one in members], types, 0)

    def __add__(self, other: "Encoded") -> "Encoded":
        """Return these entries and then the others."""
        types = None
        if self.types is not None or other.types is not None:
            types = [*self._all_types(), *other._all_types()]
        return Encoded(self.ids + other.ids, types, self.truncated + other.truncated)

    def _all_types(self) -> list[np.ndarray]:
        return self.types or [np.zeros_like(one) for one in self.ids]


class Encoder:
    """The model's tokenizer with a maximum length; padding is left to the batches."""

    def __init__(
        self, tokenizer: Path, max_length: int, truncation_side: str = "right", types: bool = True
    ) -> None:
        from tokenizers import Tokenizer

        self.max_length = max_length
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.probe_digest = probe_digest(self._tokenizer)
        self._tokenizer.enable_truncation(max_length, direction=truncation_side)
        self._wants_types = types

    def check(self, expected: str | None) -> None:
        """Raise Refused if the installed library tokenizes otherwise than when that was written.

        `expected` is the probes' digest in model/tokenizer_settings.json.
        """
        if expected is not None and self.probe_digest != expected:
            raise Refused(
                f"tokenizers {version('tokenizers')} gives other token ids than the library that "
                "prepared model/tokenizer.json; install the version of requirements.txt here too"
            )

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the token ids of `texts`, each an int64 vector."""
        encodings = self._tokenizer.encode_batch_fast(list(texts))
        ids = [np.array(one.ids, np.int64) for one in encodings]
        types = None
        if self._wants_types:
            types = [np.array(one.type_ids, np.int64) for one in encodings]
            if not any(one.any() for one in types):
                types = None
        truncated = sum(1 for one in encodings if one.overflowing)
        return Encoded(ids, types, truncated)


def usable_length(
    asked: int | None, model_limit: int | None, tokenizer_limit: int | None
) -> int | None:
    """Return the longest input in tokens: the smallest of the limits that are known.

    A tokenizer saved without its limit states a huge number, which counts as unknown. None: no
    limit is known at all.
    """
    if tokenizer_limit is not None and tokenizer_limit > WITHOUT_LIMIT:
        tokenizer_limit = None
    return min(
        (limit for limit in (asked, model_limit, tokenizer_limit) if limit is not None),
        default=None,
    )
