"""Comparisons at a threshold: exact, and equality is accepted.

A metric is a float, a threshold is what a person wrote: 0.907 - 0.897 is 0.010000000000000009 in
floats and would exceed a tolerance of 0.01. Both sides are therefore compared as decimals of
twelve places; a metric of fewer than 10^11 entries can't differ from another by less.
"""

from decimal import ROUND_HALF_EVEN, Decimal

PLACES = Decimal("1e-12")


def exact(value: float) -> Decimal:
    """Return a metric's value or a threshold as a decimal of twelve places."""
    return Decimal(repr(float(value))).quantize(PLACES, rounding=ROUND_HALF_EVEN)


def reaches(value: float, minimum: float) -> bool:
    """Return whether `value` is at least `minimum`; equality is accepted."""
    return exact(value) >= exact(minimum)


def drop(reference: float, value: float) -> float:
    """Return how far `value` lies below `reference` (negative: above it)."""
    return float(exact(reference) - exact(value))


def within(reference: float, value: float, largest: float) -> bool:
    """Return whether `value` falls at most `largest` below `reference`; equality is accepted."""
    return exact(reference) - exact(value) <= exact(largest)
