"""The A/A control is one setting under two names; anything else would flag what really differs."""

from collections.abc import Sequence

from atpar.config.variants import LABELS, Variant
from atpar.errors import AtparError


def check_control(control: Sequence[str] | None, variants: Sequence[Variant], table: str) -> None:
    """Refuse a control whose two variants aren't one setting; `table` is where they are written."""
    if not control:
        return
    first, second = control
    if first == second:
        raise AtparError(
            f"protocol.control names {first!r} twice; write the same setting under a second name "
            f"in {table}, and name both"
        )
    named = {variant.variant: variant for variant in variants}
    one, other = named[first], named[second]
    differing = [
        f"{option} ({getattr(one, option)} and {getattr(other, option)})"
        for option in Variant.model_fields
        if option not in LABELS and getattr(one, option) != getattr(other, option)
    ]
    if differing:
        raise AtparError(
            f"protocol.control names {first!r} and {second!r}, which differ in "
            f"{', '.join(differing)} in {table}; a control is one setting under two names, so give "
            "both rows the same options, or name other variants"
        )
