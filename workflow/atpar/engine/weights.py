"""Is the model on disk the one that was fingerprinted?"""

from pathlib import Path
from typing import Any

from atpar.canonical import file_digest, read_json
from atpar.engine.job import model_folder

DIGEST_LIMIT_BYTES = 2 * 2**30
"""Files up to this size are compared by content at each pass (about 1 s a GB), larger by size."""


class ModelChanged(Exception):
    """A model file isn't the one that its fingerprint describes."""


def verify_export(model: Path) -> str:
    """Return the digest of the exported model; ModelChanged if it isn't what was exported."""
    export = model.with_name("export.json")
    try:
        expected, found = read_json(export)["sha256"], file_digest(model)
    except OSError as error:
        raise ModelChanged(f"{error.filename}: {error.strerror}") from None
    if found != expected:
        raise ModelChanged(
            f"{model}: not the file that {export} describes (SHA-256 {expected[:12]}...); delete "
            "both, so that the model is exported again"
        )
    return found


def verify_files(fingerprint: dict[str, Any]) -> None:
    """Raise ModelChanged if a model file is missing or isn't the one in the fingerprint."""
    folder = model_folder(fingerprint)
    for file in fingerprint["files"]:
        path = Path(file["path"])
        path = path if path.exists() else folder / path.name
        try:
            size = path.stat().st_size
            same = size == file["bytes"] and (
                size > DIGEST_LIMIT_BYTES or file_digest(path) == file["sha256"]
            )
        except OSError as error:
            raise ModelChanged(f"{path}: {error.strerror}") from None
        if not same:
            raise ModelChanged(
                f"{path}: not the file that model/fingerprint.json describes (SHA-256 "
                f"{file['sha256'][:12]}...); put it back, or fingerprint the model again"
            )
