"""Which files of `results/<campaign>/` make up a share, and nothing else.

Paths are relative to the campaign's folder, with `/`. What isn't named here can neither be packed
nor taken in, so that an archive never writes outside of it.
"""

import re
from dataclasses import dataclass

from atpar.config.base import NAME_PATTERN

IDENTITY = (
    "corpus/fingerprint.json",
    "corpus/reference.parquet",
    "model/fingerprint.json",
    "model/labels.json",
    "model/tokenizer_settings.json",
    "protocol/seal.json",
)
"""What the passes were measured against. No texts and no weights: digests, ids and labels."""

NEEDED = ("corpus/fingerprint.json", "model/fingerprint.json", "protocol/seal.json")
"""Identity files that no share lacks."""

SCRATCH = frozenset({"alive", "scores.f32", "done.u1"})
"""Files of an attempt that its processes use while they run."""

_OFFER = rf"(?P<offer>{NAME_PATTERN})"
_VARIANT = rf"(?P<variant>{NAME_PATTERN})"
_REPETITION = r"(?P<repetition>[1-9][0-9]*)"
_PATTERNS = {
    "journal": rf"journal/{_OFFER}\.jsonl",
    "environment": rf"offers/{_OFFER}/environment(-[0-9a-f]{{12}})?\.json",
    "attempt": rf"attempts/{_OFFER}/{_VARIANT}/{_REPETITION}-(?P<number>[1-9][0-9]*)"
    rf"/(?P<file>{NAME_PATTERN})",
    "predictions": rf"predictions/{_OFFER}/{_VARIANT}/{_REPETITION}\.parquet",
    "record": rf"passes/{_OFFER}/{_VARIANT}/{_REPETITION}\.json",
    "checks": rf"checks/{_OFFER}/{_VARIANT}\.json",
    "quality": rf"quality/{_OFFER}/{_VARIANT}\.json",
}


@dataclass(frozen=True)
class Place:
    """What a file of a share is; names that its kind doesn't have are empty."""

    kind: str
    offer: str = ""
    variant: str = ""
    repetition: int = 0
    number: int = 0
    file: str = ""

    @property
    def attempt_id(self) -> str:
        """The attempt that a file of kind `attempt` belongs to."""
        return f"{self.offer}/{self.variant}/{self.repetition}/{self.number}"

    @property
    def option_pass(self) -> str:
        """The pass that a record, predictions or an attempt belongs to."""
        return f"{self.offer}/{self.variant}/{self.repetition}"


def place_of(path: str) -> Place | None:
    """Return what a path of a share is, None for a path that no share has."""
    if path in IDENTITY:
        return Place("identity")
    for kind, pattern in _PATTERNS.items():
        found = re.fullmatch(pattern, path, flags=re.ASCII)
        if found:
            names = {name: text for name, text in found.groupdict().items() if text}
            for name in ("repetition", "number"):
                if name in names:
                    names[name] = int(names[name])
            place = Place(kind, **names)
            return None if place.file in SCRATCH else place
    return None
