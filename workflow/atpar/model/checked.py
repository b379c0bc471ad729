"""The checks that load a model once on the CPU, before any pass is paid for."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atpar.errors import AtparError
from atpar.model.heads import BINARY, SINGLE_LABEL

POSITIONS = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len")
"""How configurations name the number of positions."""
NAMED = 4
"""Weights named in a message."""


def read_configuration(folder: Path, trust_remote_code: bool) -> Any:
    """Return the model's configuration once it is one that this product can run.

    Raises AtparError for remote code unless allowed, and for models without a classification head.
    """
    from transformers import AutoConfig

    stated = _stated(folder)
    if stated.get("auto_map") and not trust_remote_code:
        raise AtparError(
            f"{folder}/config.json: the model brings Python code of its own (auto_map), which "
            "isn't run unless you allow it. Read the code, then set model.trust_remote_code: true"
        )
    named = stated.get("architectures") or ["none"]
    architecture = named[0] if isinstance(named, list) else named
    if not isinstance(named, list) or not str(architecture).endswith("ForSequenceClassification"):
        raise AtparError(
            f"{folder}/config.json: the architecture is {architecture}, expected a list of one "
            "that ends in ForSequenceClassification; fine-tune a classification head and save the "
            "whole model"
        )
    try:
        configuration = AutoConfig.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust_remote_code
        )
    except Exception as error:  # unknown types, remote code, values of the wrong type
        raise AtparError(f"{folder}/config.json: {str(error).strip()[:400]}") from None
    return configuration


def _stated(folder: Path) -> Mapping[str, Any]:
    import json

    try:
        stated = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AtparError(f"{folder}/config.json: can't be read as JSON ({error})") from None
    if not isinstance(stated, dict):
        raise AtparError(
            f"{folder}/config.json: holds no JSON object; save the model with `save_pretrained`"
        )
    return stated


def label_names(
    configuration: Any, given: Sequence[str] | None, folder: Path, kind: str = SINGLE_LABEL
) -> list[str]:
    """Return the labels in index order: those of `model.labels`, else the model's own.

    A `binary` head has one output and two labels.
    """
    if kind == BINARY:
        return _distinct(list(given), folder)
    count = configuration.num_labels
    own = {int(number): str(name) for number, name in configuration.id2label.items()}
    if sorted(own) != list(range(count)):
        raise AtparError(
            f"{folder}/config.json: id2label has the indices {sorted(own)}, expected 0 to "
            f"{count - 1}"
        )
    names = list(given) if given is not None else [own[number] for number in range(count)]
    if len(names) != count:
        raise AtparError(
            f"model.labels names {len(names)} labels, but the head has {count} outputs"
        )
    return _distinct(names, folder)


def _distinct(names: list[str], folder: Path) -> list[str]:
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise AtparError(f"{folder}: two outputs are labelled {sorted(repeated)[0]!r}")
    return names


def load_checked(folder: Path, trust_remote_code: bool, allow_pickle: bool) -> Any:
    """Load the model on the CPU; refuse weights that are missing, left over, or of other shapes.

    A missing weight would be drawn at random, and its predictions with it.
    Safetensors are mapped from their file and not copied, so one larger than memory loads too.
    """
    from transformers import AutoModelForSequenceClassification
    from transformers.utils import logging

    os.environ.setdefault("TQDM_DISABLE", "1")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model, found = AutoModelForSequenceClassification.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=trust_remote_code,
            use_safetensors=None if allow_pickle else True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            dtype="auto",
        )
    except Exception as error:  # whatever weights can do wrong, torch has a class for
        raise AtparError(
            f"{folder}: transformers can't load it: {str(error).strip()[:400]}"
        ) from None
    shaped = [str(one[0] if isinstance(one, tuple) else one) for one in found["mismatched_keys"]]
    _refuse(
        folder,
        found["missing_keys"],
        "are missing from the weights, and would be random; "
        "save the whole fine-tuned model with `save_pretrained`",
    )
    _refuse(
        folder,
        shaped,
        "have other shapes than config.json says; are config and weights from different revisions?",
    )
    _refuse(
        folder,
        found["unexpected_keys"],
        "are in the weights, but not in the model; is its "
        "architecture the right one? Load and save it again with `save_pretrained`",
    )
    return model.eval()


def _refuse(folder: Path, names: Any, text: str) -> None:
    names = sorted(map(str, names))
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        raise AtparError(f"{folder}: {', '.join(names[:NAMED])}{more} {text}")


def usable_positions(configuration: Any, model: Any) -> tuple[int | None, int | None]:
    """Return (positions of the table, longest input that fits), None where there is no table.

    RoBERTa and its kin count positions from the padding index on, so that many are never used.
    """
    stated = [getattr(configuration, name, None) for name in POSITIONS]
    positions = next((one for one in stated if isinstance(one, int) and one > 0), None)
    if positions is None:
        return None, None
    for name, module in model.named_modules():
        offset = getattr(module, "padding_idx", None)
        if name.endswith("position_embeddings") and offset is not None:
            return positions, positions - offset - 1
    return positions, positions


def check_vocabulary(model: Any, settings: Mapping[str, Any], folder: Path) -> None:
    """Refuse a tokenizer whose ids reach past the model's embeddings."""
    rows = model.get_input_embeddings().weight.shape[0]
    if settings["largest_token_id"] >= rows:
        raise AtparError(
            f"{folder}: the tokenizer gives token ids up to {settings['largest_token_id']}, but "
            f"the model has embeddings for {rows}; are they from different revisions?"
        )


def padding_token_id(configuration: Any, settings: Mapping[str, Any], folder: Path) -> int:
    """Return the padding id that model and tokenizer agree on.

    A model that states none takes the tokenizer's: without it, models that look for the last
    real token refuse batches, or read the padding.
    """
    stated, used = configuration.pad_token_id, settings["pad_token_id"]
    known = isinstance(stated, int) and stated >= 0
    if known and stated != used:
        raise AtparError(
            f"{folder}: config.json says pad_token_id {stated}, the tokenizer pads with {used} "
            f"({settings['pad_token']!r}); put one of them right, or set model.pad_token to the "
            "token that config.json means"
        )
    return used
