"""Models from the hub: the pinned revision, only the files that are used, fetched once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from atpar.canonical import write_json
from atpar.config.model import ModelSource
from atpar.errors import AtparError
from atpar.model.files import (
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    TOKENIZER_NAMES,
    model_files_in,
    tokenizer_files_in,
)


def fetch_tokenizer(hub: str, revision: str, target: Path) -> None:
    """Fetch the tokenizer's files of a revision and write the list of them to `target`."""
    _snapshot(hub, revision, target.parent, ["config.json", *TOKENIZER_NAMES])
    _write_list(target, hub, revision, tokenizer_files_in(target.parent))


def fetch_model(source: ModelSource, target: Path) -> None:
    """Fetch configuration and weights of a revision and write the list of them to `target`.

    Pickled weights and Python code come only where the configuration allows them, pickled ones
    only if there are no others.
    """
    folder = target.parent
    code = ["*.py"] if source.trust_remote_code else []
    _snapshot(source.hub, source.revision, folder, ["config.json", *SAFE_WEIGHTS, *code])
    if source.allow_pickle and not list(folder.glob("*.safetensors")):
        _snapshot(source.hub, source.revision, folder, list(PICKLED_WEIGHTS))
    _write_list(target, source.hub, source.revision, model_files_in(folder, source))


def _snapshot(hub: str, revision: str, folder: Path, patterns: Sequence[str]) -> None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        snapshot_download(hub, revision=revision, local_dir=folder, allow_patterns=list(patterns))
    except (HfHubHTTPError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:300]
        raise AtparError(
            f"model.hub {hub!r} at {revision}: can't be fetched ({type(error).__name__}: "
            f"{reason}); "
            "check id, revision, network, and access if the model is gated"
        ) from None


def _write_list(target: Path, hub: str, revision: str, files: Sequence[Path]) -> None:
    content: dict[str, Any] = {
        "hub": hub,
        "revision": revision,
        "files": [path.name for path in files],
    }
    write_json(target, content)
