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
    """A class whose exact share of a bucket rounds to no entry at all."""

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
) -> tuple[np.ndarray, list[RareClass]]:
    """Draw each bucket's exact number of entries, its classes in natural proportion.

    `class_of` holds indices into `classes`. Returns the drawn entries' places, ascending, and
    the classes that got none. The same arrays and seed give the same draw with every version of
    numpy: the keys are a bit generator's raw output, which numpy keeps stable (NEP 19).
    Raises AtparError for a bucket that can't be filled.
    """
    keys = np.random.PCG64(seed).random_raw(len(bucket_of))
    chosen, rare = [], []
    for number, bucket in enumerate(ranges):
        places = np.flatnonzero(eligible & (bucket_of == number))
        if len(places) < bucket.entries:
            raise AtparError(_unfilled(bucket, len(places), ranges, number))
        counts = np.bincount(class_of[places], minlength=len(classes))
        available = {name: int(count) for name, count in zip(classes, counts, strict=True) if count}
        drawn = largest_remainder(available, bucket.entries)
        order = places[np.lexsort((places, keys[places], class_of[places]))]
        start = 0
        for name in classes:
            chosen.append(order[start : start + drawn.get(name, 0)])
            start += available.get(name, 0)
        rare += [
            RareClass(bucket.name, name, count, bucket.entries * count / len(places), 0)
            for name, count in available.items()
            if drawn[name] == 0
        ]
    return np.sort(np.concatenate(chosen)), rare


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
