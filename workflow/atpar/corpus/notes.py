"""What a person should know of a corpus before relying on it: counts as sentences."""

from collections.abc import Mapping
from typing import Any

SHOWN = 5
"""Classes named in a sentence; the fingerprint lists all."""


def corpus_notes(facts: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each oddity of a corpus that was accepted.

    `facts` are the fingerprint's counts, `tokenizer` the tokenizer's settings.
    """
    counts = facts["policy_counts"]
    notes = []
    if facts["rare_classes"]:
        notes.append(_rare_classes(facts["rare_classes"]))
    tokens = facts["tokens"]
    if tokens["above_limit"]:
        share = tokens["above_limit"] / facts["entries"]["evaluation"]
        notes.append(
            f"{tokens['above_limit']} evaluation entries ({share:.1%}) are longer than the "
            f"tokenizer's limit of {tokens['limit']} tokens, the longest has {tokens['max']}: "
            "passes cut them, and count what they cut"
        )
    if counts["twin_text"]:
        notes.append(
            f"{counts['twin_text']} texts are equal to another one only once normalised (NFC): "
            "they look alike, but may be tokenized and labelled differently; none was changed"
        )
    if counts["without_tokens"]:
        notes.append(
            f"{counts['without_tokens']} texts give the model nothing to read (blank, or of "
            "characters that the tokenizer drops); they are kept, and get some label all the same"
        )
    if counts["pad_token_in_text"]:
        notes.append(_padding(counts["pad_token_in_text"], tokenizer))
    return notes


def _rare_classes(rare: list[Mapping[str, Any]]) -> str:
    def named(kept: bool) -> str:
        own = [one for one in rare if bool(one["drawn"]) == kept]
        names = [f"{one['label']} in {one['bucket']} ({one['available']})" for one in own[:SHOWN]]
        more = [f"and {len(own) - SHOWN} more"] if len(own) > SHOWN else []
        return ", ".join(names + more)

    said = [
        (named(kept=False), "too rare in their bucket for a place in the sample"),
        (named(kept=True), "too rare for a place by their proportion, and kept with one entry"),
    ]
    return "; ".join(f"classes {text}: {names}" for names, text in said if names)


def _padding(texts: int, tokenizer: Mapping[str, Any]) -> str:
    pad = tokenizer["pad_token"]
    if pad == tokenizer.get("eos_token"):
        return (
            f"the padding token is the end-of-text token {pad!r}, and {texts} texts hold it: a "
            "head that looks for the last real token passes over it. Set model.pad_token to a "
            "token of its own, if the vocabulary has one"
        )
    return (
        f"{texts} texts hold the padding token {pad!r} as text: a head that looks for the last "
        "real token may pass over it"
    )
