"""What each variant will cut, told before any pass is paid for."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from atpar.canonical import read_json
from atpar.engine.tokens import usable_length


def truncation_notes(
    reference: Path,
    fingerprint: Path,
    tokenizer_settings: Path,
    max_lengths: Mapping[str, int | None],
) -> list[str]:
    """Return one sentence for each length at which variants cut entries; none where none does.

    `reference` is corpus/reference.parquet, whose `tokens` count an entry untruncated, special
    tokens included; `fingerprint` the model's; `max_lengths` are the variants' own, in tokens.
    """
    tokens = pq.read_table(reference, columns=["tokens"])["tokens"]
    model_limit = read_json(fingerprint).get("usable_length")
    tokenizer_limit = read_json(tokenizer_settings)["model_max_length"]
    cutting: dict[int, list[str]] = {}
    for variant, asked in max_lengths.items():
        limit = usable_length(asked, model_limit, tokenizer_limit)
        if limit is not None:
            cutting.setdefault(limit, []).append(variant)
    notes = []
    for limit, variants in sorted(cutting.items()):
        cut = pc.sum(pc.greater(tokens, limit)).as_py() or 0
        if cut:
            share = f"{cut} of {len(tokens)} entries ({cut / len(tokens):.1%})"
            notes.append(
                f"{', '.join(variants)}: {share} will be cut at {limit} tokens; the longest has "
                f"{pc.max(tokens).as_py()}"
            )
    if notes and len(cutting) > 1:
        notes.append(
            "these variants don't cut alike: one that cuts otherwise than the reference does other "
            "work, and can't be chosen"
        )
    return notes
