"""Values given with `--config`, read as the configuration file reads them.

Snakemake reads nested ones as text (`protocol={minimum: 0.8}` gives '0.8'), so the same words would
mean something else on the command line than in the file.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from atpar.errors import AtparError


def with_overrides(config: Mapping[str, Any], arguments: Iterable[str]) -> dict[str, Any]:
    """Return `config` with the `key=value` arguments merged over it, values read as YAML."""
    result = dict(config)
    for argument in arguments:
        key, _, text = argument.partition("=")
        try:
            value = yaml.safe_load(text)
        except (
            yaml.YAMLError,
            ValueError,
            RecursionError,
        ):  # ValueError: a date such as 0000-00-00
            raise AtparError(
                f"--config {argument}: {text!r} isn't YAML; in the shell, put the whole argument "
                "in single quotes"
            ) from None
        result[key] = _merged(result.get(key), value)
    return result


def as_quoted_argument(arguments: Iterable[str], path: tuple[str | int, ...]) -> str | None:
    """Return how a shell gives the value at `path` as a text: `'campaign="010"'`.

    None if none of the `key=value` arguments gives one there.
    """
    for argument in arguments:
        key, _, text = argument.partition("=")
        if path[:1] != (key,):
            continue
        value = yaml.load(text, yaml.BaseLoader)  # every scalar as it is written
        opened = closed = ""
        try:
            for part in path[1:]:
                value = value[part]
                opened += "[" if isinstance(part, int) else f"{{{part}: "
                closed = ("]" if isinstance(part, int) else "}") + closed
        except (LookupError, TypeError):
            continue
        if isinstance(value, str):
            return f"'{key}={opened}\"{value}\"{closed}'"
    return None


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}
    return above
