"""Write config/schema.json and the tables of config/README.md from models and schema.

Run `python -m atpar.document` after a model changed; a test compares both files.
"""

import json
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pandera.pandas as pa
from pydantic_core import PydanticUndefined

from atpar.calendar.tasks import Task
from atpar.canonical import write_text
from atpar.config.base import Model
from atpar.config.campaign import Campaign
from atpar.config.exclusions import Exclusion
from atpar.config.expenses import Expense
from atpar.config.offers import Offer
from atpar.config.variants import Variant
from atpar.money.schemas import TARIFFS

TABLES = (
    ("Variants", "config/variants.tsv", Variant),
    ("Offers", "config/offers.tsv", Offer),
    ("Calendar", "config/calendar.tsv", Task),
    ("Expenses", "config/expenses.tsv", Expense),
    ("Exclusions", "config/exclusions.tsv", Exclusion),
)
BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"


def schema_text() -> str:
    """Return the JSON Schema of the configuration."""
    schema = Campaign.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    # An overlay states only what differs, so an editor mustn't ask for the rest.
    for part in [schema, *schema["$defs"].values()]:
        part.pop("required", None)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def options_text() -> str:
    """Return the option tables as Markdown: one section a model, one a table."""
    sections = ["## Configuration (`config/config.yaml`)\n", _section("", Campaign)]
    for title, file, model in TABLES:
        sections.append(f"## {title} (`{file}`)\n\n{_summary(model)}\n")
        sections.append(_rows("", model))
    sections += ["## Tariffs (`tables.tariffs`)\n", _columns(TARIFFS)]
    return "\n".join(sections)


def _section(prefix: str, model: type[Model]) -> str:
    heading = f"### `{prefix.rstrip('.')}`" if prefix else "### Top level"
    parts = [f"{heading}\n\n{_summary(model)}\n", _rows(prefix, model)]
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            mark = "[]" if _is_list(field.annotation) else ""
            parts.append(_section(f"{prefix}{name}{mark}.", inner))
    return "\n".join(parts)


def _rows(prefix: str, model: type[Model]) -> str:
    lines = ["| option | values | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in model.model_fields.items():
        default = _default(field)
        meaning = " ".join((field.description or "").split()).replace("|", "\\|")
        lines.append(f"| `{prefix}{name}` | {_values(field.annotation)} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def _columns(schema: pa.DataFrameSchema) -> str:
    """Return the columns of a table that is described by a schema instead of a model."""
    lines = ["| column | values | needed | meaning |", "| --- | --- | --- | --- |"]
    for name, column in schema.columns.items():
        values = ", ".join(map(_allowed, column.checks)) or "text"
        needed = "may be empty" if column.nullable else "required"
        lines.append(f"| `{name}` | {values} | {needed} | {column.description} |")
    return "\n".join(lines) + "\n"


def _allowed(check: pa.Check) -> str:
    listed = (check.statistics or {}).get("allowed_values")
    return check.title if listed is None else ", ".join(f"`{value}`" for value in listed)


def _summary(model: type[Model]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def _default(field: Any) -> str:
    if field.default_factory is not None:
        return f"`{json.dumps(field.default_factory(), ensure_ascii=False)}`"
    if field.default is PydanticUndefined:
        return "required"
    if isinstance(field.default, Model):
        return "see below"
    return f"`{json.dumps(field.default, ensure_ascii=False)}`"


def _values(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(_values(one) for one in arguments)
    if origin in (list, tuple):
        return f"list of {_values(arguments[0])}"
    if origin is dict:
        return f"{_values(arguments[0])} to {_values(arguments[1])}"
    if origin is not None or hasattr(annotation, "__metadata__"):
        return _values(arguments[0] if arguments else annotation.__origin__)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return "section"
    names = {str: "text", int: "whole number", float: "number", bool: "true, false"}
    return "null" if annotation is NoneType else names.get(annotation, annotation.__name__)


def _models(annotation: Any) -> list[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    return [model for one in get_args(annotation) for model in _models(one)]


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))


def documented(readme: str) -> str:
    """Return the README's text with the option tables between its two marks made anew."""
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{options_text()}\n{END}{tail}"


def main(folder: Path) -> None:
    """Write both files in `folder`, the repository's config folder."""
    write_text(folder / "schema.json", schema_text())
    readme = folder / "README.md"
    write_text(readme, documented(readme.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "config"))
