"""The one exception for what a person can put right."""

from collections.abc import Iterable
from difflib import get_close_matches


class AtparError(Exception):
    """Bad input, said in one message: where, what was expected, what to do.

    Stages and commands print the message alone, without a traceback, and end with a non-zero
    status. Anything else that is raised is a bug and keeps its traceback.
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `known` as a hint for a name that is none of them, nearest first where one is near."""
    known = [str(one) for one in known]
    nearest = get_close_matches(str(name), known, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean {nearest[0]!r}?"
    return "known: " + ", ".join(sorted(known)) if known else "none is known"
