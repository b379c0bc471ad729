"""Configuration files as the command line names them: one, and overlays merged over it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from atpar.config.written import as_written, refuse_odd_numbers, refuse_repeated_keys
from atpar.errors import AtparError

BASE = Path("config/config.yaml")
"""What the Snakefile reads by itself, below the files named on the command line."""


def campaign_config(overlays: Iterable[str | Path]) -> dict[str, Any]:
    """Return the configuration as `snakemake --configfile OVERLAYS` has it: merged over BASE.

    As there, overlays may do without BASE where it doesn't exist.
    """
    overlays = list(overlays)
    return read_config([BASE, *overlays] if BASE.exists() or not overlays else overlays)


def read_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Return YAML files merged in order, deeply, as Snakemake merges `--configfile`.

    Raises AtparError for a file without options, and for what YAML would hide in it.
    """
    merged: dict[str, Any] = {}
    paths = [Path(path) for path in paths]
    written = as_written(paths)
    refuse_repeated_keys(written)
    refuse_odd_numbers(written)
    for path in paths:
        try:
            value = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            raise AtparError(f"{path}: no such configuration file") from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise AtparError(f"{path}: no YAML: {error}") from None
        if not isinstance(value, Mapping):
            raise AtparError(f"{path}: expected options, found {type(value).__name__}")
        merged = _merge(merged, value)
    return merged


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merge(result[key], value) if both else value
    return result
