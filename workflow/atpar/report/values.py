"""How single values are written on the page. A missing one is an en dash with its reason."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal

DASH = "–"

Mark = Literal["good", "bad", "caution"]


VERDICTS: dict[str, Mark] = {"accepted": "good", "rejected": "bad", "not judged": "caution"}
"""How the verdicts of the quality room are marked."""


@dataclass(frozen=True)
class Cell:
    """One value as text; with a `reason`, the value is missing and `text` is an en dash.

    A `remark` is what must be known of a value that is there.
    """

    text: str
    reason: str | None = None
    remark: str | None = None
    mark: Mark | None = None


def missing(reason: str | None) -> Cell:
    """Return the cell of a value that isn't there."""
    return Cell(DASH, reason=reason or "no reason was recorded")


def plain(value: object) -> str:
    """Return any value of a JSON document as short text."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {plain(one)}" for key, one in value.items()) or "none"
    return str(value)


def flag(value: str) -> str:
    """Return a truth value of a table as `yes` or `no`; other text as it is."""
    return {"true": "yes", "false": "no"}.get(value.strip().lower(), value)


def number(value: str) -> str:
    """Return a number of a table, grouped in thousands, with about four significant digits."""
    parsed = as_float(value)
    if parsed is None:
        return value
    if parsed == int(parsed) and abs(parsed) < 1e15:
        return f"{int(parsed):,}"
    magnitude = abs(parsed)
    if magnitude >= 1000:
        return f"{parsed:,.0f}"
    if magnitude >= 100:
        return f"{parsed:.1f}"
    if magnitude >= 1:
        return f"{parsed:.2f}"
    return f"{parsed:.4g}"


def seconds(value: str) -> str:
    """Return a duration in seconds to the hundredth, longer ones coarser, shorter ones finer.

    A duration that isn't zero is never written as zero.
    """
    parsed = as_float(value)
    if parsed is None:
        return value
    if parsed and abs(parsed) < 1:
        return f"{parsed:.3g}"
    if abs(parsed) >= 1000:
        return f"{parsed:,.0f}"
    return f"{parsed:.1f}" if abs(parsed) >= 100 else f"{parsed:.2f}"


def each_seconds(value: str) -> str:
    """Return durations parted by semicolons in their order; one that is missing is a dash."""
    parts = [part.strip() for part in value.split(";")]
    return "; ".join(seconds(part) if part else DASH for part in parts)


def score(value: str) -> str:
    """Return the value of a metric with four decimals."""
    parsed = as_float(value)
    return value if parsed is None else f"{parsed:.4f}"


def memory(value: str) -> str:
    """Return bytes as MiB or GiB (powers of 1024)."""
    parsed = as_float(value)
    if parsed is None:
        return value
    if parsed < 2**20:
        return f"{parsed:,.0f} B"
    if parsed < 2**30:
        return f"{parsed / 2**20:,.1f} MiB"
    return f"{parsed / 2**30:,.2f} GiB"


def money(value: str, currency: str = "") -> str:
    """Return an exact decimal amount, grouped, with two decimals at least and none taken away."""
    try:
        amount = Decimal(value)
    except InvalidOperation:
        return value
    if not amount.is_finite():
        return value
    decimals = max(2, -int(amount.normalize().as_tuple().exponent))
    return f"{amount:,.{decimals}f} {currency}".strip()


def instant(value: str) -> str:
    """Return an ISO 8601 instant as `2026-11-30 09:05:11 UTC` (or with its offset)."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    text = moment.strftime("%Y-%m-%d %H:%M:%S")
    offset = moment.strftime("%z")
    if not offset:
        return text
    return f"{text} UTC" if offset == "+0000" else f"{text} {offset[:3]}:{offset[3:5]}"


def as_float(value: object) -> float | None:
    """Return a finite number, None for anything else."""
    try:
        parsed = float(str(value))
    except ValueError:
        return None
    return parsed if parsed - parsed == 0 else None


def is_true(value: object) -> bool:
    """Tell whether a table's cell says true."""
    return str(value).strip().lower() in {"true", "yes", "1"}
