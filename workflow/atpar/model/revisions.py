"""Are the files of a model folder of one revision? Told by what a download left beside them.

The hub's clients keep, for each file that they put into a folder, the commit that it came from
(`.cache/huggingface/download/<file>.metadata`, first line); their cache names its folders by it
(`snapshots/<commit>`).
"""

import re
from collections.abc import Iterable
from pathlib import Path

from atpar.errors import AtparError

METADATA = Path(".cache/huggingface/download")
COMMIT = re.compile(r"[0-9a-f]{40}")


def folder_revision(folder: Path, files: Iterable[Path]) -> str | None:
    """Return the commit that these files of a folder were downloaded from, None if it isn't told.

    Raises AtparError if they are from different ones: configuration, weights and tokenizer of
    different revisions load without a word and predict something else.
    """
    found = {path.name: commit for path in files if (commit := _commit(folder, path.name))}
    commits = sorted(set(found.values()))
    if len(commits) > 1:
        named = "; ".join(f"{name} is of {commit[:12]}" for name, commit in sorted(found.items()))
        raise AtparError(
            f"{folder}: its files are from different revisions ({named}); download all of them "
            "again at one revision, or state model.hub and model.revision"
        )
    return commits[0] if commits else _of_cache(folder)


def _commit(folder: Path, name: str) -> str | None:
    try:
        text = (folder / METADATA / f"{name}.metadata").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    first = text.partition("\n")[0].strip()
    return first if COMMIT.fullmatch(first) else None


def _of_cache(folder: Path) -> str | None:
    named = folder.parent.name == "snapshots" and COMMIT.fullmatch(folder.name)
    return folder.name if named else None
