"""The draw of an evaluation sample: exact counts, classes in natural proportion, seeded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from atpar.errors import AtparError


@dataclass(frozen=True)
class BucketRange:
    """A range of token counts; `up_to` is None for the last one."""

    name: str
    up_to: int | None
    entries: int


@dataclass(frozen=True)
class RareClass:
    """A class whose exact share of a bucket rounds to no entry; one that is kept has `drawn` 1."""

    bucket: str
    label: str
    available: int
    share: float
    drawn: int


def assign_buckets(tokens: np.ndarray, ranges: Sequence[BucketRange]) -> np.ndarray:
    """Return the index of each entry's bucket."""
    bounds = np.array([one.up_to for one in ranges[:-1]], np.int64)
    return np.searchsorted(bounds, tokens, side="left").astype(np.int32)


def largest_remainder(available: Mapping[str, int], wanted: int) -> dict[str, int]:
    """Share `wanted` places among classes in proportion to what is available of each.

    Each class gets the whole part of its exact share; the places left go to the largest
    fractions (Hamilton's method; ties: the larger class, then its name). Integers throughout, so
    the result is exact, sums to `wanted`, and never exceeds what is available.
    Raises ValueError if `wanted` exceeds the total.
    """
    total = sum(available.values())
    if wanted > total:
        raise ValueError(f"{wanted} wanted of {total}")
    if total == 0:
        return dict.fromkeys(available, 0)
    shares = {name: divmod(wanted * count, total) for name, count in available.items()}
    drawn = {name: whole for name, (whole, _) in shares.items()}
    by_fraction = sorted(available, key=lambda name: (-shares[name][1], -available[name], name))
    for name in by_fraction[: wanted - sum(drawn.values())]:
        drawn[name] += 1
    return drawn


def draw(
    bucket_of: np.ndarray,
    class_of: np.ndarray,
    classes: Sequence[str],
    eligible: np.ndarray,
    ranges: Sequence[BucketRange],
    seed: int,
    *,
    keep_rare: bool = False,
) -> tuple[np.ndarray, list[RareClass]]:
    """Draw each bucket's exact number of entries, its classes in natural proportion.

    With `keep_rare`, a class that would get no entry in any bucket gets one in the bucket where its
    share is largest, in place of one of the class with most entries there. `class_of` holds indices
    into `classes`. Returns the drawn entries' places, ascending, and the classes that got none in a
    bucket, or only by being kept. The same arrays and seed give the same draw with every version of
    numpy: the keys are a bit generator's raw output, which numpy keeps stable (NEP 19).
    Raises AtparError for a bucket that can't be filled, or a class that no bucket has room for.
    """
    keys = np.random.PCG64(seed).random_raw(len(bucket_of))
    inside = [np.flatnonzero(eligible & (bucket_of == number)) for number in range(len(ranges))]
    shares = []
    for number, (bucket, places) in enumerate(zip(ranges, inside, strict=True)):
        if len(places) < bucket.entries:
            raise AtparError(_unfilled(bucket, len(places), ranges, number))
        counts = np.bincount(class_of[places], minlength=len(classes))
        available = {name: int(count) for name, count in zip(classes, counts, strict=True) if count}
        shares.append((bucket, available, largest_remainder(available, bucket.entries)))
    kept = keep_classes(shares) if keep_rare else set()
    chosen, rare = [], []
    for (bucket, available, drawn), places in zip(shares, inside, strict=True):
        order = places[np.lexsort((places, keys[places], class_of[places]))]
        start = 0
        for name in classes:
            chosen.append(order[start : start + drawn.get(name, 0)])
            start += available.get(name, 0)
        rare += [
            RareClass(bucket.name, name, count, bucket.entries * count / len(places), drawn[name])
            for name, count in available.items()
            if drawn[name] == 0 or (bucket.name, name) in kept
        ]
    return np.sort(np.concatenate(chosen)), rare


Share = tuple[BucketRange, dict[str, int], dict[str, int]]
"""A bucket, and of each of its classes how many are available and how many are drawn."""


def keep_classes(shares: Sequence[Share]) -> set[tuple[str, str]]:
    """Give each class without any entry one, in place; return the (bucket, class) pairs.

    Another class gives up an entry only if it keeps one. AtparError: there is no room.
    """
    kept = set()
    missing = [
        name
        for name in sorted({name for _, available, _ in shares for name in available})
        if not any(drawn.get(name) for _, _, drawn in shares)
    ]
    for name in missing:
        # Largest share first; a bucket of which nothing is drawn has no place to give.
        able = [
            (bucket.entries * available[name] / sum(available.values()), -number)
            for number, (bucket, available, drawn) in enumerate(shares)
            if name in available and max(drawn.values()) > 1
        ]
        if not able:
            raise AtparError(
                f"corpus.sample: no place for {name!r}, one of {len(missing)} classes that are too "
                f"rare for one by their proportion ({', '.join(missing[:5])}); ask for more "
                "entries, or state `rare_classes: leave_out`"
            )
        bucket, _, drawn = shares[-max(able)[1]]
        giver = max(sorted(drawn), key=drawn.__getitem__)
        drawn[giver] -= 1
        drawn[name] = 1
        kept.add((bucket.name, name))
    return kept


def passage(places: np.ndarray, order: str, seed: int) -> np.ndarray:
    """Return the places in order of passage: `shuffled` by the seed, or as in the `source`."""
    if order == "source":
        return places
    # The draw's keys would repeat its choice; an own stream keeps order and choice independent.
    keys = np.random.PCG64([seed, 1]).random_raw(len(places))
    return places[np.lexsort((places, keys))]


def _unfilled(
    bucket: BucketRange, available: int, ranges: Sequence[BucketRange], number: int
) -> str:
    above = f"above {ranges[number - 1].up_to}" if number else "from 1"
    reach = f"{above} tokens" if bucket.up_to is None else f"{above} up to {bucket.up_to} tokens"
    return (
        f"corpus.sample: bucket {bucket.name!r} ({reach}) wants {bucket.entries} entries, but "
        f"{available} are available; ask for at most {available}, move the bounds, or add texts"
    )
