"""What taking in shares will change, decided before anything is changed.

A plan holds the files to put in place and the journal lines to add. It is made by comparing every
share with what is here and with the shares before it; any contradiction is an AtparError.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atpar.canonical import file_digest, read_json
from atpar.carry.archive import Share
from atpar.carry.layout import IDENTITY, Place, place_of
from atpar.carry.union import Event, finished, new_events
from atpar.errors import AtparError, did_you_mean
from atpar.journal import journal

COMPARED = {
    "corpus/fingerprint.json": ("corpus_digest", "evaluation_digest"),
    "model/fingerprint.json": ("model_digest", "tokenizer_digest"),
    "protocol/seal.json": ("digest",),
}
"""Identity file -> the digests in it that must be equal."""

NAMES = {
    "corpus/fingerprint.json": "corpus",
    "model/fingerprint.json": "model",
    "protocol/seal.json": "sealed protocol",
}
LABELS = frozenset({"series", "recovers"})
"""Options of a variant that don't change how a pass runs."""


@dataclass(frozen=True)
class Expected:
    """This checkout's configuration, as far as a share must agree with it."""

    campaign: str
    offers: tuple[str, ...]
    here: tuple[str, ...]
    """Offers measured on this machine: what runs here isn't overwritten."""
    variants: Mapping[str, Mapping[str, Any]]
    """Variant name -> its settings."""
    devices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Offer name -> device and threads of its passes."""


@dataclass
class Plan:
    """Changes to a campaign's folder; see `atpar.carry.commit` for how they are made."""

    results: Path
    expected: Expected
    files: dict[str, tuple[Path, str]] = field(default_factory=dict)
    """Target path -> (unpacked file, its SHA-256)."""
    events: dict[str, list[Event]] = field(default_factory=dict)
    """Offer -> events to add to its journal."""
    _journals: dict[str, list[Event]] = field(default_factory=dict)

    def add(self, share: Share) -> dict[str, int]:
        """Plan to take in a share; return how many passes, attempts and events are new in it."""
        self._check_configuration(share)
        self._check_identity(share)
        before = len(self.files)
        count = {"passes": 0, "attempts": 0, "events": 0}
        for offer in share.offers:
            known = finished(self._journal(offer))
            there = _share_journal(share, offer)
            added = new_events(self._journal(offer), there, str(share.archive))
            self._journals[offer] = [*self._journal(offer), *added]
            self.events.setdefault(offer, []).extend(added)
            count["events"] += len(added)
            count["attempts"] += sum(event["event"] == "started" for event in added)
            self._add_attempts(share, offer, known, finished(there))
            count["passes"] += self._add_records(share, offer, finished(there))
            self._add_environments(share, offer)
        self._add_identity(share)
        return {**count, "files": len(self.files) - before}

    def current(self, path: str) -> str | None:
        """Return the SHA-256 of a file as it will be, None if there is none."""
        if path in self.files:
            return self.files[path][1]
        target = self.results / path
        return file_digest(target) if target.exists() else None

    def _check_configuration(self, share: Share) -> None:
        wanted = self.expected
        if share.campaign != wanted.campaign:
            raise AtparError(
                f"{share.archive}: a share of campaign {share.campaign!r}, but this one is "
                f"{wanted.campaign!r}"
            )
        for offer in share.offers:
            if offer not in wanted.offers:
                raise AtparError(
                    f"{share.archive}: measured as offer {offer!r}, which isn't in the offers "
                    f"table here; {did_you_mean(offer, wanted.offers)}"
                )

    def _check_identity(self, share: Share) -> None:
        """Refuse a share that was measured against another corpus, model or protocol."""
        for path, keys in COMPARED.items():
            here = self._json(path)
            if here is None:
                continue
            there = share.json(path)
            for key in keys:
                if here.get(key) != there.get(key):
                    raise AtparError(
                        f"{share.archive}: measured with another {NAMES[path]} ({key} is "
                        f"{str(there.get(key))[:12]} there and {str(here.get(key))[:12]} in "
                        f"{self.results / path}); nothing was taken in"
                    )

    def _json(self, path: str) -> Any:
        if path in self.files:
            return read_json(self.files[path][0])
        target = self.results / path
        return read_json(target) if target.exists() else None

    def _journal(self, offer: str) -> list[Event]:
        if offer not in self._journals:
            self._journals[offer] = journal.read(self.results / "journal" / f"{offer}.jsonl")
        return self._journals[offer]

    def _add_attempts(self, share: Share, offer: str, here: set[str], there: set[str]) -> None:
        """Plan the files of attempts; `here` and `there` name those whose end is known."""
        for path, place in _places(share, "attempt", offer):
            current = self.current(path)
            if current == share.digests[path]:
                continue
            if current is not None:
                if place.attempt_id in here and place.attempt_id in there:
                    raise AtparError(
                        f"{share.archive}: {path} differs from the file here, though attempt "
                        f"{place.attempt_id} ended on both sides: one of them was changed or "
                        "damaged; nothing was taken in"
                    )
                if place.attempt_id in here or offer in self.expected.here:
                    continue
            self._take(share, path)

    def _add_records(self, share: Share, offer: str, ended: set[str]) -> int:
        taken = 0
        for path, place in _places(share, "record", offer):
            record = share.json(path)
            self._check_record(share, path, record, place, ended)
            here = self._json(path)
            predictions = f"predictions/{place.option_pass}.parquet"
            if here is not None and here["attempt_id"] == record["attempt_id"]:
                if self.current(path) != share.digests[path] and here != record:
                    raise AtparError(
                        f"{share.archive}: {path} differs from the record of the same attempt "
                        "here: one of them was changed; nothing was taken in"
                    )
                if self.current(predictions) is None:
                    self._take(share, predictions)
            elif here is None or here["attempt_number"] < record["attempt_number"]:
                self._take(share, path)
                self._take(share, predictions)
                taken += 1
        return taken

    def _check_record(
        self, share: Share, path: str, record: Any, place: Place, ended: set[str]
    ) -> None:
        where = f"{share.archive}: {path}"
        try:
            name, number = record["attempt_id"], record["attempt_number"]
            settings, digest = record["variant_settings"], record["predictions_digest"]
        except (KeyError, TypeError):
            raise AtparError(f"{where} isn't the record of a pass") from None
        if name != f"{place.option_pass}/{number}" or name not in ended:
            raise AtparError(f"{where} names attempt {name}, whose end its journal doesn't tell")
        predictions = f"predictions/{place.option_pass}.parquet"
        if predictions not in share.digests:
            raise AtparError(f"{where} is there without {predictions}")
        if digest not in (None, share.digests[predictions]):
            raise AtparError(f"{where} speaks of other predictions than {predictions}")
        for table, name, known, measured in (
            ("variants", place.variant, self.expected.variants, settings),
            ("offers", place.offer, self.expected.devices, record.get("offer_settings", {})),
        ):
            here = known.get(name, {})
            for option in sorted(here.keys() & measured.keys() - LABELS):
                if here[option] != measured[option]:
                    raise AtparError(
                        f"{where} was measured with {option} {measured[option]!r}, but "
                        f"{name!r} has {here[option]!r} in the {table} table here"
                    )

    def _add_environments(self, share: Share, offer: str) -> None:
        """Keep every environment: a second one under its digest, beside the first [P8]."""
        first = f"offers/{offer}/environment.json"
        for path, _ in _places(share, "environment", offer):
            digest = share.json(path)["digest"]
            here = self._json(first)
            if here is None:
                self._take(share, path, first)
            elif here["digest"] != digest:
                self._take(share, path, f"offers/{offer}/environment-{digest[:12]}.json")

    def _add_identity(self, share: Share) -> None:
        for path in IDENTITY:
            if path in share.digests and self.current(path) is None:
                self._take(share, path)

    def _take(self, share: Share, path: str, target: str | None = None) -> None:
        target = target or path
        if self.current(target) != share.digests[path]:
            self.files[target] = (share.folder / path, share.digests[path])


def _places(share: Share, kind: str, offer: str) -> list[tuple[str, Place]]:
    found = [(path, place_of(path)) for path in sorted(share.digests)]
    return [(path, place) for path, place in found if (place.kind, place.offer) == (kind, offer)]


def _share_journal(share: Share, offer: str) -> list[Event]:
    """Return the events of an offer in a share; AtparError if they belong elsewhere."""
    path = f"journal/{offer}.jsonl"
    if path not in share.digests:
        return []
    try:
        events = journal.read(share.folder / path)
    except AtparError:
        raise AtparError(f"{share.archive}: {path} in it has a line that isn't an event") from None
    for event in events:
        name = event.get("attempt_id", f"{offer}/")
        if not isinstance(name, str) or not name.startswith(f"{offer}/") or "event" not in event:
            raise AtparError(f"{share.archive}: {path} tells of attempt {name!r} of another offer")
    return events
