"""The `atpar` command.

A subcommand is a module of `atpar.commands` with `add_arguments(parser)` and `run(arguments)`,
which returns the exit status. Only the module that is asked for is imported, so that
`atpar price` starts fast.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from atpar import __version__
from atpar.errors import AtparError, did_you_mean

COMMANDS = {
    "price": ("price", "price a package, or list what covers a window"),
    "cost-hourly": ("cost_hourly", "cost of an hourly rental: running hours, storage, retries"),
    "checklist": ("checklist", "the checklist before a rental, filled with what is known"),
    "import-tariff": ("import_tariff", "turn a price list of another tool into a tariff file"),
    "verify": ("verify", "check an evidence bag: checksums, and what follows from its attempts"),
    "decision": ("decision", "the decision of a campaign in a few lines"),
    "reconcile": ("reconcile", "set an invoice against the ledger, line by line"),
}
"""Name of a subcommand -> its module in `atpar.commands`, and its line in the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; bad input gives one message and exit status 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0 if words else 2
    if words[0] == "--version":
        print(f"atpar {__version__}")
        return 0
    name, *rest = words
    if name not in COMMANDS:
        print(f"error: no command {name!r}; " + did_you_mean(name, COMMANDS), file=sys.stderr)
        return 2
    module, summary = COMMANDS[name]
    command = import_module(f"atpar.commands.{module}")
    parser = argparse.ArgumentParser(prog=f"atpar {name}", description=summary)
    command.add_arguments(parser)
    try:
        return command.run(parser.parse_args(rest))
    except AtparError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def overview() -> str:
    """Return the list of subcommands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(["usage: atpar COMMAND [options]", "", *lines, "", "atpar COMMAND --help"])


if __name__ == "__main__":
    sys.exit(main())
