"""Words for numbers and lists in sentences."""

from collections.abc import Sequence


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return `1 pass`, `2 passes`; `many` defaults to `one` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def and_list(items: Sequence[object]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    words = [str(item) for item in items]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def brief(seconds: str | float | None) -> str:
    """Return a duration in seconds with three significant digits or whole seconds."""
    if seconds is None:
        return "no duration"
    value = float(seconds)
    return f"{value:.0f} s" if value >= 100 else f"{value:.3g} s"


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop."""
    text = text.strip()
    return text if not text else text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
