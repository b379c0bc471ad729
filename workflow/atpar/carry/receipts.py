"""Which shares wait in a campaign's `incoming` folder, and what they will bring.

Light: it is imported while the Snakefile is parsed, and only shares that weren't taken in yet are
opened, for their manifest alone.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from atpar.canonical import digest, read_json
from atpar.carry.archive import read_manifest
from atpar.carry.commit import pending
from atpar.carry.layout import IDENTITY, NEEDED, place_of
from atpar.config.load import Plan
from atpar.errors import AtparError

INCOMING, MERGED = "incoming", "merged"
_READ_BY_RULES = ("journal", "environment", "predictions", "record")


@dataclass(frozen=True)
class Carried:
    """Shares of one campaign, as they are when the Snakefile is parsed."""

    results: Path
    waiting: tuple[Path, ...]
    """Archives that weren't taken in yet."""
    due: tuple[Path, ...]
    """Their receipts, and those of a merge that was cut off."""
    promised: frozenset[str]
    """Files (with the campaign's folder) of offers elsewhere that taking them in will bring."""
    of_offer: dict[str, tuple[Path, ...]]
    """Offer elsewhere -> every receipt, present or due, that concerns it."""
    evaluates_only: bool
    """Nothing is measured here, and corpus, model and seal are those that were carried in."""
    faults: tuple[str, ...]
    """What is wrong with archives that can't be read; taking them in will be refused."""

    def has(self, path: str | Path) -> bool:
        """Tell whether a file is there, or will be once the shares are taken in."""
        return str(path) in self.promised or Path(path).exists()

    def receipts(self, offer: str | None = None) -> list[str]:
        """Return the receipts that concern an offer, or any offer."""
        lists = self.of_offer.values() if offer is None else [self.of_offer.get(offer, ())]
        return sorted({str(receipt) for receipts in lists for receipt in receipts})

    def last_repetition(self, offers: Collection[str], variants: Collection[str]) -> int:
        """Return the last repetition of these that has a record, there or promised; 0: none."""
        paths = [*self.results.glob("passes/*/*/*.json"), *map(Path, self.promised)]
        places = [place_of(path.relative_to(self.results).as_posix()) for path in paths]
        return max(
            (
                place.repetition
                for place in places
                if place and place.kind == "record"
                if place.offer in offers and place.variant in variants
            ),
            default=0,
        )


def with_measured_rounds(plan: Plan, carried: Carried) -> Plan:
    """Return the plan with every round that was measured under the sealed rule `automatic`.

    A node that grants itself a round says so in a file of its own, which no share holds: a share
    brings that round's records, here they are what tells of it.
    """
    protocol = plan.campaign.protocol
    if protocol.extension.mode != "automatic":
        return plan
    offers = [offer.offer for offer in plan.offers]
    last = carried.last_repetition(offers, [variant.variant for variant in plan.variants])
    rounds = min(last, protocol.extension.limit) - protocol.repetitions
    return plan.with_granted(max(plan.granted, rounds))


def receipt_of(results: Path, archive: Path) -> Path:
    """Return the receipt's path for an archive as it lies there now.

    Told by name, size and time, so that no archive is read through each time the workflow starts;
    the same archive copied again is taken in again, which changes nothing.
    """
    status = archive.stat()
    name = archive.relative_to(results / INCOMING).with_suffix("").as_posix()
    key = digest([name, status.st_size, status.st_mtime_ns])[:12]
    return results / MERGED / f"{name.replace('/', '-')}-{key}.json"


def look(
    results: Path, offers: Iterable[str], here: Iterable[str], shared: bool = False
) -> Carried:
    """Return what was carried into `results` (`results/<campaign>`) and what waits there.

    `shared`: more can be fetched from a shared storage.
    """
    here = set(here)
    elsewhere = [offer for offer in offers if offer not in here]
    due: dict[Path, tuple[list[str], list[str]]] = {}
    waiting, faults = [], []
    for archive in sorted((results / INCOMING).rglob("*.zip")):
        receipt = receipt_of(results, archive)
        if not receipt.exists():
            waiting.append(archive)
            try:
                manifest = read_manifest(archive)
            except AtparError as error:
                # Refused when it is to be taken in; it may concern any offer.
                faults.append(str(error))
                due[receipt] = (elsewhere, [])
            else:
                paths = [entry["path"] for entry in manifest["files"]]
                due[receipt] = (manifest["offers"], paths)
    plan = pending(results)
    if plan is not None:
        paths = [move["to"] for move in plan["moves"]]
        for receipt, content in plan["receipts"].items():
            due[results / receipt] = (content["offers"], paths)
    taken = {receipt: read_json(receipt) for receipt in (results / MERGED).glob("*.json")}
    concerns = {receipt: content["offers"] for receipt, content in taken.items()}
    concerns |= {receipt: names for receipt, (names, _) in due.items()}
    promised = {
        path
        for _, paths in due.values()
        for path in paths
        if _promises(path, elsewhere, not here) and not (results / path).exists()
    }
    missing = any(not (results / path).exists() for path in NEEDED)
    brought = any(content["identity"] for content in taken.values())
    return Carried(
        results=results,
        waiting=tuple(waiting),
        due=tuple(sorted(due)),
        promised=frozenset(str(results / path) for path in promised),
        of_offer={
            offer: tuple(sorted(path for path, names in concerns.items() if offer in names))
            for offer in elsewhere
        },
        evaluates_only=not here and (brought or (missing and bool(waiting or shared))),
        faults=tuple(faults),
    )


def _promises(path: str, elsewhere: list[str], identity: bool) -> bool:
    if path in IDENTITY:
        return identity
    place = place_of(path)
    return place.kind in _READ_BY_RULES and place.offer in elsewhere
