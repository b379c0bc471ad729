"""`atpar verify`: check an evidence bag [P36]."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from atpar.report.verify import Verification, verify_bag


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("bag", type=Path, help="evidence.zip, or the folder it was unpacked to")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: Namespace) -> int:
    """Print what was found; 0 if the bag holds, 1 if it doesn't."""
    found = verify_bag(arguments.bag)
    print(_as_json(found) if arguments.json else _as_text(found))
    return 0 if found.holds else 1


def _as_json(found: Verification) -> str:
    value = {
        "bag": found.bag,
        "holds": found.holds,
        "problems": found.problems,
        "rebuilt": found.rebuilt,
        "notes": found.notes,
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def _as_text(found: Verification) -> str:
    lines = [f"problem: {one}" for one in found.problems]
    for name, differing in found.rebuilt.items():
        lines += [f"differs: {one}" for one in differing]
        if not differing:
            lines.append(f"equal:   {name}")
    lines += [f"note:    {one}" for one in found.notes]
    if found.holds:
        lines.append(
            f"{found.bag} holds: every checksum is right, and all follows from its attempts"
        )
    elif not found.rebuilt:
        lines.append(f"{found.bag} doesn't hold: its files aren't those that were packed")
    else:
        lines.append(f"{found.bag} doesn't hold: see above")
    return "\n".join(lines)
