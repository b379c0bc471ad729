"""What the compared amounts lack, and how those who engage them are named [P31]."""

from collections.abc import Collection, Mapping, Sequence

from atpar.decision.words import and_list

Key = tuple[str, str]


def name(option: Key) -> str:
    """Return an option in words."""
    return f"{option[1]} on {option[0]}"


def named(options: Collection[Key], among: Collection[Key]) -> list[str]:
    """Return the options in words: an offer's name where they are all of its options `among`."""
    names = []
    for option in options:
        shared = all(other in options for other in among if other[0] == option[0])
        names.append(option[0] if shared else name(option))
    return list(dict.fromkeys(names))


def lacking_alike(unknown: Mapping[Key, Sequence[str]]) -> dict[frozenset[str], list[Key]]:
    """Return the options by the items that their amounts lack."""
    groups: dict[frozenset[str], list[Key]] = {}
    for option, items in unknown.items():
        groups.setdefault(frozenset(items), []).append(option)
    return groups


def unlike(unknown: Mapping[Key, Sequence[str]], lowest: Collection[Key]) -> str | None:
    """Return in a sentence that the amounts lack different items; None: they lack the same.

    `unknown` is option -> items of its amount that aren't known, `lowest` the options whose amount
    is the lowest as far as it is known.
    """
    groups = lacking_alike(unknown)
    if len(groups) < 2:
        return None
    each = [
        f"{and_list(named(options, unknown))}: "
        + (f"without {and_list(sorted(items))}" if items else "nothing is missing")
        for items, options in groups.items()
    ]
    outcome = (
        "another one may be the lowest once they are known"
        if any(unknown[option] for option in lowest)
        else "what isn't known can only make the others dearer"
    )
    return f"The amounts compared don't lack the same items ({'; '.join(each)}); {outcome}."
