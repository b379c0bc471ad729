"""Metrics of a person's own, `module:function`: found and imported.

Light: the check before any pass imports this, and nothing else of how quality is judged.
"""

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from atpar.config.kinds import CLASS_METRIC
from atpar.errors import AtparError


def is_own(name: str) -> bool:
    """Return whether a metric's name is `module:function`; a class may have a colon in its name."""
    return ":" in name and not CLASS_METRIC.fullmatch(name)


def check_own_metrics(names: Iterable[str]) -> None:
    """Import those of the metrics that are a person's own; AtparError says what is wrong."""
    for name in filter(is_own, names):
        own_metric(name)


def own_metric(name: str) -> Callable:
    """Import a person's metric from the working directory or what is installed.

    Raises AtparError where there is none of that name, or where importing it fails.
    """
    module, _, function = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found = getattr(import_module(module), function)
    except Exception as error:  # a module of one's own can fail in any way while it is imported
        raise AtparError(
            f"metric {name}: {type(error).__name__}: {error}; it must be `module:function`, "
            "importable from the working directory or installed"
        ) from None
    if not callable(found):
        raise AtparError(
            f"metric {name}: {function} is {type(found).__name__}, expected a function of "
            "reference, predicted, scores and labels"
        )
    return found
