"""Energy of a span by the card's own counter, with a code that says whether it can be believed."""

from collections.abc import Mapping
from typing import Any

SHORTEST_S = 1.0
"""Counters move about every 0.1 s, so that a shorter span is off by more than a tenth."""
OVER_LIMIT = 1.5
"""A mean power above so many times the card's limit is a jump of the counter and no power."""


def energy(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, elapsed_s: float
) -> dict[str, Any]:
    """Return `energy_j` (joules or None), its `validity`, and the `reason` where it is None.

    `before` and `after` are `gpu_state` at the ends of a span of `elapsed_s` seconds. Codes:
    `valid`, `no counter`, `gap` (one reading is missing, the counter went back, or it jumped),
    `not ticking`, `too short`.
    """
    first, last = (_counter(state) for state in (before, after))
    if first is None and last is None:
        return _invalid("no counter", _reason(before))
    if first is None or last is None:
        missing = before if first is None else after
        return _invalid("gap", f"the counter was read once alone: {_reason(missing)}")
    if last < first:
        return _invalid("gap", f"the counter went back from {first:g} J to {last:g} J")
    if elapsed_s < SHORTEST_S:
        return _invalid(
            "too short", f"a span of {elapsed_s:.2g} s is too short for a counter of its kind"
        )
    if last == first:
        return _invalid("not ticking", f"the counter stood still at {first:g} J")
    limit = (after or {}).get("power_limit_w")
    if limit and (last - first) / elapsed_s > OVER_LIMIT * limit:
        return _invalid(
            "gap",
            f"the counter jumped: {(last - first) / elapsed_s:.0f} W on average, where the card is "
            f"limited to {limit:.0f} W",
        )
    return {"energy_j": last - first, "validity": "valid", "reason": None}


def _counter(state: Mapping[str, Any] | None) -> float | None:
    return (state or {}).get("energy_j")


def _reason(state: Mapping[str, Any] | None) -> str:
    if state is None:
        return "the pass ran on the CPU, whose energy isn't read"
    reasons = state.get("reasons", {})
    return reasons.get("energy_j") or reasons.get("all") or "the device tells no energy"


def _invalid(code: str, reason: str) -> dict[str, Any]:
    return {"energy_j": None, "validity": code, "reason": reason}
