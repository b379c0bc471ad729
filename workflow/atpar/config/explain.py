"""What pydantic refuses, in words that a person can act on."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, get_args

from pydantic import ValidationError

from atpar.config.base import Model
from atpar.config.overrides import as_quoted_argument
from atpar.errors import did_you_mean

SPELLED_OUT = 20
"""Powers of ten up to which a number with an exponent is written without one."""


def faults(error: ValidationError, model: type[Model], given: Sequence[str] = ()) -> list[str]:
    """Return each fault as `path: what was found, what was expected`.

    `given` are the arguments of `--config`: text in them needs other quotes than in a file.
    """
    found: dict[str, str] = {}
    for fault in error.errors(include_url=False):
        # Of a union (`here` is a name or a list) only the first reading is explained.
        found.setdefault(_place(fault), _explain(fault, model, given))
    return list(found.values())


def _explain(fault: dict[str, Any], model: type[Model], given: Sequence[str]) -> str:
    place = _place(fault)
    if fault["type"] == "extra_forbidden":
        known = _model_at(model, fault["loc"][:-1]).model_fields
        return f"unknown option {place!r}; " + did_you_mean(str(fault["loc"][-1]), known)
    if fault["type"] == "missing":
        return f"{place}: missing; it has no default"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "value_error":
        return f"{place}: {message}" if place else message
    said = f"{place} is {fault['input']!r}: {message[0].lower()}{message[1:]}"
    if fault["type"] == "string_pattern_mismatch":
        return said + _meaning(model, fault["loc"])
    return said + _yaml_hint(fault, given)


def _yaml_hint(fault: dict[str, Any], given: Sequence[str]) -> str:
    """Return how to write a value that YAML made another type of, nothing for other faults."""
    found, kind = fault["input"], fault["type"]
    if "string" in kind and isinstance(found, (bool, int, float, date)):
        made = "a date" if isinstance(found, date) else "a number or truth value"
        hint = f"; YAML read it as {made}, so put it in quotes"
        argument = as_quoted_argument(given, _path(fault))
        # The shell takes the outer quotes away.
        return hint + (f" that reach YAML: --config {argument}" if argument else "")
    if not isinstance(found, str):
        return ""
    if kind == "bool_type":
        return "; write true or false, without quotes"
    if kind in ("float_type", "int_type"):
        try:
            number = Decimal(found)
        except InvalidOperation:
            return ""
        if number.is_finite() and abs(number.adjusted()) <= SPELLED_OUT:
            # Spelled out: YAML 1.1 takes 1e-06 for text, and so anything with an exponent.
            written = f"{number:f}"
            return f"; it was read as text, so write {written} (no quotes)"
    return ""


def _meaning(model: type[Model], path: tuple) -> str:
    """Return what the option at `path` means, for a value whose form is wrong."""
    field = _model_at(model, path[:-1]).model_fields.get(path[-1])
    return f" ({' '.join(field.description.split())})" if field and field.description else ""


def _path(fault: dict[str, Any]) -> tuple:
    """Return the option's keys and indices, without the tags that pydantic adds for a union."""
    return tuple(
        part
        for part in fault["loc"]
        if isinstance(part, int) or ("[" not in part and part not in ("str", "int"))
    )


def _place(fault: dict[str, Any]) -> str:
    """Return the option's place as it is written."""
    return ".".join(map(str, _path(fault)))


def _model_at(model: type[Model], path: tuple) -> type[Model]:
    """Return the model of the options at `path` inside `model`."""
    for part in path:
        field = getattr(model, "model_fields", {}).get(part)
        if field is None:
            continue  # a list index, or a tag that pydantic adds for a union
        candidates = [field.annotation, *get_args(field.annotation)]
        inner = [one for one in candidates if isinstance(one, type) and issubclass(one, Model)]
        model = inner[0] if inner else model
    return model
