"""Does a model score an entry alike, alone and padded in a batch?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from atpar.errors import AtparError

SHORT = "Lists the tags of a resource."
LONG = "Creates a copy of a stored image in another region, and waits until it is there. " * 3
LARGEST_COMPARED = 2_000_000_000
"""Parameters up to which padding is tried out (8 GB of memory in fp32)."""
TOLERANCE = 1e-3
"""Largest difference of scores that rounding explains in fp32, absolute and relative."""


def check_padding(
    model: Any, tokenizer: Path, settings: Mapping[str, Any], limit: int, folder: Path
) -> tuple[list[str] | None, list[str]]:
    """Return the sides on which an entry padded beside a longer one scores as alone, and notes.

    A padding side, or a padding id, that the model doesn't reckon with changes its scores.
    Entries are cut to `limit` tokens; `settings` are the tokenizer's. For models above
    LARGEST_COMPARED parameters the check would cost more than it tells: the sides are None, and a
    note says so. Raises AtparError if the tokenizer's own side is none of them.
    """
    parameters = sum(one.numel() for one in model.parameters())
    if parameters > LARGEST_COMPARED:
        return None, [
            f"padding wasn't tried out: the model has {parameters:,} parameters, and above "
            f"{LARGEST_COMPARED:,} an entry's scores in a batch aren't compared with those alone; "
            "see in the quality of variants with other batch sizes whether they differ"
        ]
    model = model.float()
    model.config.pad_token_id = settings["pad_token_id"]
    encoder = Tokenizer.from_file(str(tokenizer))
    encoder.enable_truncation(limit)
    ids = encoder.encode(SHORT).ids, encoder.encode(LONG).ids
    try:
        with torch.inference_mode():
            alone = model(input_ids=torch.tensor([ids[0]])).logits[0]
            together = {
                side: _beside_longer(model, ids, settings["pad_token_id"], side == "left")
                for side in ("right", "left")
            }
    except Exception as error:  # whatever a model can do wrong, torch has a class for
        raise AtparError(
            f"{folder}: the model fails on two entries in a batch: {str(error).strip()[:400]}"
        ) from None
    own = settings["padding_side"]
    alike = {
        side: torch.allclose(alone, scores, atol=TOLERANCE, rtol=TOLERANCE)
        for side, scores in together.items()
    }
    if not alike[own]:
        gap = (alone - together[own]).abs().max().item()
        raise AtparError(
            f"{folder}: an entry padded on the {own} beside a longer one gets other scores than "
            f"alone (by {gap:.3g}); set padding_side in tokenizer_config.json to the side that "
            "the model was trained with, and pad_token_id in config.json"
        )
    return [side for side, same in alike.items() if same], []


def _beside_longer(model: Any, ids: tuple[list[int], list[int]], padding: int, left: bool) -> Any:
    """Return the logits of the first entry in a batch with the second."""
    rows = [_padded(one, len(ids[1]), padding, left) for one in ids]
    return model(
        input_ids=torch.tensor([tokens for tokens, _ in rows]),
        attention_mask=torch.tensor([mask for _, mask in rows]),
    ).logits[0]


def _padded(ids: list[int], width: int, padding: int, left: bool) -> tuple[list[int], list[int]]:
    """Return ids and attention mask of an entry in a batch of that width."""
    real, fill = [1] * len(ids), width - len(ids)
    if left:
        return [padding] * fill + ids, [0] * fill + real
    return ids + [padding] * fill, real + [0] * fill
