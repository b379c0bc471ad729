"""What must be here of the campaign that another one follows; light, since every parse asks it."""

from pathlib import Path

FOLLOWED_FILES = ("summary.csv", "balance.csv", "decision.json")
"""Files of a campaign that has been decided."""


def lacking(folder: Path) -> list[str]:
    """Return which files of the earlier campaign's folder (`results/<campaign>`) aren't here."""
    return [name for name in FOLLOWED_FILES if not (folder / name).exists()]
