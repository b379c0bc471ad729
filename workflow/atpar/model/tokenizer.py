"""The model's tokenizer, loaded once by transformers and kept as the `tokenizers` backend."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from atpar.canonical import digest, read_json, write_json, write_text
from atpar.errors import AtparError
from atpar.model.files import HUB_TOKENIZER_LIST
from atpar.model.probes import PROBES, probe_digest

UNKNOWN_LENGTH = 1_000_000
"""transformers states a huge number where the folder has no `model_max_length`."""


def prepare_tokenizer(
    files: Sequence[Path],
    pad_token: str | None,
    trust_remote_code: bool,
    backend: Path,
    settings: Path,
) -> dict[str, Any]:
    """Load the tokenizer from its files alone, write its backend and its settings.

    `files` are the tokenizer's files, or the one list of them that a hub fetch wrote. Padding and
    truncation are off in the backend: batches and maximum lengths are the variants'. Returns the
    settings. Raises AtparError for a tokenizer without a fast backend, one that doesn't load, and
    a backend that gives other token ids than transformers does.
    """
    tokenizer = load_tokenizer(listed(files, HUB_TOKENIZER_LIST), trust_remote_code)
    if not getattr(tokenizer, "is_fast", False):
        raise AtparError(
            f"{files[0].parent}: {type(tokenizer).__name__} has no fast backend, so its tokens "
            "can't be counted and timed alike for all variants; save the model with a tokenizer "
            "that has a tokenizer.json"
        )
    _set_padding_token(tokenizer, pad_token, files[0].parent)
    plain = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    plain.no_padding()
    plain.no_truncation()
    probed = _probe(tokenizer, plain, files[0].parent)
    limit = tokenizer.model_max_length
    state = plain.to_str(pretty=False)
    content = {
        "class": type(tokenizer).__name__,
        "model_max_length": int(limit) if limit and limit < UNKNOWN_LENGTH else None,
        "pad_token": tokenizer.pad_token,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token": tokenizer.eos_token,
        "padding_side": tokenizer.padding_side,
        "truncation_side": tokenizer.truncation_side,
        "input_names": list(tokenizer.model_input_names),
        "largest_token_id": max(tokenizer.get_vocab().values()),
        "probe_digest": probed,
    }
    content["tokenizer_digest"] = digest({**content, "backend": json.loads(state)})
    write_text(backend, state)
    write_json(settings, content)
    return content


def listed(files: Sequence[Path], list_name: str) -> list[Path]:
    """Return the files themselves where `files` is the one list of them of a hub revision."""
    if len(files) == 1 and files[0].name == list_name:
        return [files[0].parent / name for name in read_json(files[0])["files"]]
    return list(files)


def load_tokenizer(files: Sequence[Path], trust_remote_code: bool) -> Any:
    """Return the tokenizer that transformers builds from these files and nothing else.

    They are copied aside, so that no other file of the folder and no network has a say.
    """
    missing = [path for path in files if not path.is_file()]
    if missing:
        raise AtparError(f"{missing[0]}: no such file")
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            shutil.copy(path, folder)
        try:
            return AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=trust_remote_code
            )
        except Exception as error:  # whatever a folder can do wrong, transformers has a class for
            raise AtparError(
                f"{files[0].parent}: transformers can't build a tokenizer from "
                f"{', '.join(path.name for path in files)}: {str(error).strip()[:400]}"
            ) from None


def _set_padding_token(tokenizer: Any, pad_token: str | None, folder: Path) -> None:
    """Give the tokenizer the configured padding token, or refuse one that has none.

    One that is in the vocabulary only: a new one would need a new embedding in the model.
    """
    if pad_token is not None:
        if pad_token not in tokenizer.get_vocab():
            raise AtparError(
                f"model.pad_token is {pad_token!r}, which the vocabulary of {folder} doesn't have; "
                "take a token that the model knows, such as its end-of-text token"
            )
        tokenizer.pad_token = pad_token
    if tokenizer.pad_token_id is None:
        hint = f", for example {tokenizer.eos_token!r}" if tokenizer.eos_token else ""
        raise AtparError(
            f"{folder}: the tokenizer has no padding token, so texts can't share a batch; set "
            f"model.pad_token to a token of its vocabulary{hint}"
        )


def _probe(tokenizer: Any, plain: Tokenizer, folder: Path) -> str:
    """Return the digest of the probes' token ids, the same from transformers and the backend."""
    for text in PROBES:
        expected = list(tokenizer(text, truncation=False)["input_ids"])
        found = plain.encode(text).ids
        if found != expected:
            place = int(np.argmax([a != b for a, b in zip(found, expected, strict=False)] or [1]))
            raise AtparError(
                f"{folder}: for the text {text!r} the tokenizer's backend gives other token ids "
                f"than transformers (from token {place} on); save the tokenizer again with the "
                "installed transformers"
            )
    return probe_digest(plain)
