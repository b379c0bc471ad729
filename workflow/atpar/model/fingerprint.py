"""The model's fingerprint, written only for a model that can be measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atpar.canonical import digest, file_digest, read_json, write_json
from atpar.errors import AtparError
from atpar.model.checked import (
    check_vocabulary,
    label_names,
    load_checked,
    padding_token_id,
    read_configuration,
    usable_positions,
)
from atpar.model.files import HUB_MODEL_LIST, TOKENIZER_NAMES
from atpar.model.header import parameter_dtype, read_headers
from atpar.model.heads import SINGLE_LABEL, head_kind
from atpar.model.padding import check_padding
from atpar.model.revisions import folder_revision
from atpar.model.stored import PRECISIONS, check_declared, check_stored
from atpar.model.tokenizer import listed

DEFINITION = 1


def fingerprint_model(
    files: Sequence[Path],
    tokenizer: Path,
    tokenizer_settings: Path,
    source: str,
    revision: str | None,
    labels: Sequence[str] | None,
    trust_remote_code: bool,
    allow_pickle: bool,
    fingerprint: Path,
    head: str | None = None,
) -> dict[str, Any]:
    """Check the model by loading it once on the CPU, and write what it is made of.

    `files` are configuration and weights (or a hub revision's list of them); `source` is the
    folder or hub id, `labels` the configuration's names in index order, `head` what it says of the
    outputs' meaning. Returns the fingerprint.
    Raises AtparError, with the remedy, for every model that passes couldn't measure.
    """
    files = listed(files, HUB_MODEL_LIST)
    folder = files[0].parent
    settings = read_json(tokenizer_settings)
    configuration = read_configuration(folder, trust_remote_code)
    check_stored(files, configuration, folder)
    tokenizer_files = [path for name in TOKENIZER_NAMES if (path := folder / name).exists()]
    found_revision = folder_revision(folder, [*files, *tokenizer_files])
    outputs = configuration.num_labels
    where = f"{folder}/config.json"
    kind = head_kind(configuration.problem_type, outputs, head, labels, where)
    names = label_names(configuration, labels, folder, kind)
    model = load_checked(folder, trust_remote_code, allow_pickle)
    check_vocabulary(model, settings, folder)
    pad_token_id = padding_token_id(configuration, settings, folder)
    positions, usable = usable_positions(configuration, model)
    if usable is None and settings["model_max_length"] is None:
        raise AtparError(
            f"{folder}: neither config.json nor tokenizer_config.json says how long an input may "
            "be; set model_max_length in tokenizer_config.json"
        )
    limits = [one for one in (usable, settings["model_max_length"]) if one is not None]
    weights = _weights(files, model)
    check_declared(configuration, weights["dtype"], folder)
    sides, notes = check_padding(model, tokenizer, settings, min(limits), folder)
    facts = [
        {"path": str(path), "sha256": file_digest(path), "bytes": path.stat().st_size}
        for path in files
    ]
    content = {
        "definition": DEFINITION,
        **_digests(facts, names, kind, settings),
        "files": facts,
        "source": source,
        "revision": revision or found_revision,
        "architecture": configuration.architectures[0],
        "model_type": configuration.model_type,
        "labels": names,
        "head": kind,
        "problem_type": configuration.problem_type,
        "max_positions": positions,
        "usable_length": usable,
        **weights,
        "pad_token_id": pad_token_id,
        "padding_sides": sides,
        "notes": notes,
    }
    write_json(fingerprint, content)
    return content


def _digests(
    facts: list[dict], names: list[str], kind: str, settings: dict[str, Any]
) -> dict[str, str]:
    """Return the digests of configuration, weights and tokenizer, and of all of it."""
    by_name = {Path(one["path"]).name: one["sha256"] for one in facts}
    stated = {"config": by_name.pop("config.json"), "labels": names}
    if kind != SINGLE_LABEL:  # one and the same configuration can be read in several ways
        stated["head"] = kind
    parts = {
        "config_digest": digest(stated),
        "weights_digest": digest(by_name),
        "tokenizer_digest": settings["tokenizer_digest"],
    }
    return {"model_digest": digest(parts), **parts}


def _weights(files: Sequence[Path], model: Any) -> dict[str, Any]:
    """Return number, size and precision of the parameters as they are stored."""
    safe = [path for path in files if path.suffix == ".safetensors"]
    if safe:
        tensors = read_headers(safe)
        return {
            "parameters": sum(one.elements for one in tensors.values()),
            "parameter_bytes": sum(one.bytes for one in tensors.values()),
            "dtype": parameter_dtype(tensors),
        }
    parameters = list(model.parameters())
    kinds = {str(one.dtype).removeprefix("torch.") for one in parameters}
    return {
        "parameters": sum(one.numel() for one in parameters),
        "parameter_bytes": sum(one.numel() * one.element_size() for one in parameters),
        "dtype": PRECISIONS.get(kinds.pop(), "other") if len(kinds) == 1 else "mixed",
    }
