"""`atpar price`: the stand-alone calculator of `resources/kit`, as a subcommand."""

from argparse import Namespace

from atpar.errors import AtparError
from atpar.money import calculator

add_arguments = calculator.add_arguments


def run(arguments: Namespace) -> int:
    """Print a price or the candidates for a window."""
    try:
        print(calculator.run(arguments))
    except calculator.PriceError as error:
        raise AtparError(str(error)) from None
    return 0
