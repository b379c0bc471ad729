"""The rotated order of passes [P16].

A round holds each variant once on each offer. From round to round the variants rotate by one
(1-4-8, 4-8-1, 8-1-4, ...), and so do the offers where one machine is several, so that no option
keeps a fixed place. Over as many rounds as there are variants, each variant stands once in each
place; over fewer, the counts differ by one at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a pass stands in the schedule; `rank` and `position` count from 0, rounds from 1."""

    rank: int
    round: int
    position: int
    offer: str
    variant: str
    repetition: int

    def numbers(self) -> dict[str, int]:
        """Return rank, round and position, as the record keeps them."""
        return {"rank": self.rank, "round": self.round, "position": self.position}


def rotated(names: Sequence[str], by: int) -> list[str]:
    """Return `names` with the first `by` of them (modulo their number) moved to the end."""
    by %= len(names) or 1
    return [*names[by:], *names[:by]]


def schedule(
    offers: Sequence[str],
    variants: Sequence[str],
    repetitions: int,
    resumed: Mapping[str, str] | None = None,
) -> list[Place]:
    """Return the places of all passes in the order in which they run.

    A repetition is a round. Within a round all variants of one offer run together, so that a
    device isn't left between passes of the same comparison; `position` is the place among them.
    `resumed` are variants that go on where another one's pass ended, by that other one: they don't
    rotate by themselves but follow it.
    """
    resumed = resumed or {}
    leading = [variant for variant in variants if variant not in resumed]
    places: list[Place] = []
    for repetition in range(1, repetitions + 1):
        for offer in rotated(offers, repetition - 1):
            order = [
                one
                for variant in rotated(leading, repetition - 1)
                for one in (variant, *(each for each in resumed if resumed[each] == variant))
            ]
            for position, variant in enumerate(order):
                places.append(Place(len(places), repetition, position, offer, variant, repetition))
    return places
