"""Take shares in: everything is checked first, then everything is put in place."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from atpar.canonical import file_digest
from atpar.carry.archive import Share, unpack
from atpar.carry.commit import alone, commit, workshop
from atpar.carry.layout import IDENTITY
from atpar.carry.plan import Expected, Plan
from atpar.carry.receipts import receipt_of
from atpar.errors import AtparError


def merge_shares(archives: Sequence[Path], results: Path, expected: Expected) -> list[str]:
    """Take `archives` into `results` (`results/<campaign>`) and return a line about each.

    All or nothing: if one of them is refused, AtparError lists every refused one with its reason
    and nothing changes. Taking in what is here already changes nothing. A disk that is full is an
    AtparError too; what was decided by then is completed at the next start.
    """
    try:
        return _merge(archives, results, expected)
    except OSError as error:
        raise AtparError(
            f"{results}: the shares can't be written ({error.strerror}: {error.filename}); make "
            "room and take them in again"
        ) from None


def _merge(archives: Sequence[Path], results: Path, expected: Expected) -> list[str]:
    with alone(results), workshop(results) as folder:
        faults, receipts, lines = [], {}, []
        plan = Plan(results, expected)
        for number, archive in enumerate(archives):
            receipt = receipt_of(results, archive)
            try:
                share = unpack(archive, folder / str(number))
                count = plan.add(share)
            except AtparError as error:
                faults.append(str(error))
                continue
            receipts[receipt.relative_to(results).as_posix()] = _receipt(plan, share, count)
            lines.append(_line(archive, share, count))
        if faults:
            raise AtparError("\n".join(faults))
        commit(plan, receipts, folder)
    return lines


def _receipt(plan: Plan, share: Share, count: dict[str, int]) -> dict:
    return {
        "definition": 1,
        "archive": share.archive.name,
        "sha256": file_digest(share.archive),
        "offers": list(share.offers),
        "identity": any(path in plan.files for path in IDENTITY),
        "new": count,
        "taken_in_utc": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _line(archive: Path, share: Share, count: dict[str, int]) -> str:
    if not count["files"] and not count["events"]:
        return f"{archive}: holds nothing new"
    return (
        f"{archive}: {', '.join(share.offers)}: {count['passes']} passes and "
        f"{count['attempts']} attempts are new"
    )
