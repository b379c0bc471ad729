"""Odd texts: counted always, and refused where the configuration says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from atpar.corpus.read import Rows
from atpar.corpus.repeats import count_repeats, hashes, later_places, together
from atpar.errors import AtparError

# Control characters other than tab, line feed, carriage return and next line.
CONTROL = r"[\x{00}-\x{08}\x{0B}\x{0C}\x{0E}-\x{1F}\x{7F}-\x{84}\x{86}-\x{9F}]"
SHOWN = 5
"""Rows named in a message."""


@dataclass
class TextPolicy:
    """Counts the odd texts of a stream of rows; `policy` is the configuration's."""

    policy: Mapping[str, str]
    column: str = "text"
    """Name of the texts' column in the files, for messages."""
    empty: int = 0
    missing: int = 0
    invalid: int = 0
    control: int = 0
    not_nfc: int = 0
    _hashes: list[np.ndarray] = field(default_factory=list)
    _normal_hashes: list[np.ndarray] = field(default_factory=list)

    def look(self, rows: Rows) -> None:
        """Count the rows' odd texts. Raises AtparError for what the policy rejects."""
        text = rows.batch.column("text")
        self.missing += rows.mended.get("missing_text", 0)
        self.invalid += rows.mended.get("invalid_unicode", 0)
        blank = pc.equal(pc.utf8_trim_whitespace(text), "")
        self.empty += _count(blank)
        control = pc.match_substring_regex(text, CONTROL)
        self.control += _count(control)
        self._refuse("empty_text", rows, blank, "empty or blank text")
        self._refuse("control_characters", rows, control, "control characters in the text")
        own = hashes(text)
        self._hashes.append(own)
        self._normal_hashes.append(self._look_normal(text, own))

    def _look_normal(self, text: pa.Array, own: np.ndarray) -> np.ndarray:
        """Count texts that normalisation changes; return the hashes of the normalised texts."""
        odd = np.flatnonzero(~pc.string_is_ascii(text).to_numpy(zero_copy_only=False))
        if len(odd) == 0:
            return own
        written = text.take(odd)
        normal = pc.utf8_normalize(written, "NFC")
        self.not_nfc += _count(pc.not_equal(normal, written))
        values = own.copy()
        values[odd] = hashes(normal)
        return values

    def duplicates(self) -> np.ndarray:
        """Return the places of texts that repeat an earlier one, all rows counted through."""
        return later_places(together(self._hashes))

    def counts(self) -> dict[str, int]:
        """Return the count of each kind of odd text.

        `twin_text`: texts equal to an earlier one only after Unicode normalisation (NFC).
        """
        repeated = count_repeats(together(self._hashes))
        return {
            "empty_text": self.empty,
            "missing_text": self.missing,
            "invalid_unicode": self.invalid,
            "control_characters": self.control,
            "not_nfc": self.not_nfc,
            "duplicate_text": repeated,
            "twin_text": count_repeats(together(self._normal_hashes)) - repeated,
        }

    def _refuse(self, option: str, rows: Rows, fault: pa.Array, what: str) -> None:
        if self.policy[option] != "reject" or not pc.any(fault).as_py():
            return
        places = np.flatnonzero(fault.to_numpy(zero_copy_only=False))[:SHOWN]
        ids = rows.batch.column("id")
        named = ", ".join(
            f"row {rows.first_row + int(p)} (id {ids[int(p)].as_py()!r})" for p in places
        )
        raise AtparError(
            f"{rows.path}, column {self.column!r}: {what} in {named}; put the rows right or take "
            f"them out, or set corpus.policy.{option}: accept"
        )


def _count(flags: pa.Array) -> int:
    return pc.sum(flags).as_py() or 0
