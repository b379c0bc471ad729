"""Read the configuration and its tables, or say in one message what is wrong.

Light on purpose: this runs every time the Snakefile is parsed, once for each cluster job too, so
tables are read with the csv module and only pydantic is imported.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from atpar.config.answers import check_answers
from atpar.config.base import HERE_WORDS, Model
from atpar.config.campaign import Campaign
from atpar.config.control import check_control
from atpar.config.explain import faults
from atpar.config.granted import granted_rounds
from atpar.config.offers import Offer
from atpar.config.variants import Variant
from atpar.errors import AtparError, did_you_mean

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Plan:
    """The checked configuration with its tables."""

    campaign: Campaign
    variants: tuple[Variant, ...]
    offers: tuple[Offer, ...]
    granted: int = 0
    """Rounds beyond the sealed number that the sealed rule `extension: automatic` asks for."""

    @property
    def repetitions_added(self) -> int:
        """Rounds beyond the sealed number: those of the configuration, or those granted."""
        return max(self.campaign.repetitions_added, self.granted)

    @property
    def repetitions(self) -> int:
        """Planned passes of each variant on each offer."""
        return self.campaign.protocol.repetitions + self.repetitions_added

    def with_granted(self, rounds: int) -> "Plan":
        """Return the plan as it is with so many rounds granted."""
        return replace(self, granted=rounds)

    @property
    def here(self) -> tuple[str, ...]:
        """Names of the offers measured on this machine; none yet where it is to be found out."""
        here = self.campaign.here
        if here == "all":
            return tuple(offer.offer for offer in self.offers)
        if here in ("none", "auto"):
            return ()
        return (here,) if isinstance(here, str) else tuple(here)

    @property
    def resumed(self) -> dict[str, str]:
        """Variants with `resume`, each with the one whose passes it goes on from."""
        return {one.variant: one.recovers for one in self.variants if one.resume}

    def variant(self, name: str) -> Variant:
        """Return the variant of that name (KeyError if there is none)."""
        return self._variants_by_name[name]

    def offer(self, name: str) -> Offer:
        """Return the offer of that name (KeyError if there is none)."""
        return self._offers_by_name[name]

    @cached_property
    def _variants_by_name(self) -> dict[str, Variant]:
        return {variant.variant: variant for variant in self.variants}

    @cached_property
    def _offers_by_name(self) -> dict[str, Offer]:
        return {offer.offer: offer for offer in self.offers}


def load_plan(config: Mapping[str, Any], folder: Path = Path(), given: Sequence[str] = ()) -> Plan:
    """Check the merged configuration and read its tables, paths relative to `folder`.

    `given` are the arguments of `--config` that were merged over it, for messages. Raises
    AtparError with every fault found in the first part that has any.
    """
    campaign = check(Campaign, config, "configuration", given)
    variants = read_table(folder / campaign.tables.variants, Variant, "variant")
    offers = read_table(folder / campaign.tables.offers, Offer, "offer")
    granted = 0
    if campaign.protocol.extension.mode == "automatic":
        results = folder / "results" / campaign.campaign
        granted = granted_rounds(results, campaign.protocol.repetitions)
    plan = Plan(campaign, tuple(variants), tuple(offers), granted)
    _check_names(plan)
    check_control(campaign.protocol.control, variants, campaign.tables.variants)
    check_answers(campaign)
    return plan


def check(model: type[Row], value: Any, where: str, given: Sequence[str] = ()) -> Row:
    """Return `value` as `model`, or raise AtparError that lists each fault and its remedy.

    `given` are the arguments of `--config` that are part of it.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise AtparError(f"{where}: " + "\n  ".join(faults(error, model, given))) from None


def read_table(path: Path, model: type[Row], key: str, *, may_be_empty: bool = False) -> list[Row]:
    """Read a TSV table, one `model` a row; an empty cell takes the option's default.

    Lines that start with `#` are comments. Names in column `key` must differ, ignoring case.
    """
    rows = [
        (line, check(model, cells, f"{path}, line {line}"))
        for line, cells in _read_cells(path, model)
    ]
    if not rows and not may_be_empty:
        raise AtparError(f"{path}: no rows; write at least one {key} below the header")
    seen: dict[str, tuple[int, str]] = {}
    for line, row in rows:
        name = getattr(row, key)
        if name.lower() in seen:
            first, other = seen[name.lower()]
            raise AtparError(
                f"{path}, line {line}: {key} {name!r} is used twice (line {first} has {other!r}); "
                "names become folders and must differ, ignoring case"
            )
        seen[name.lower()] = (line, name)
    return [row for _, row in rows]


def _read_cells(path: Path, model: type[Model]) -> list[tuple[int, dict[str, Any]]]:
    """Return (line number, cells converted to the model's types) for each row."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise AtparError(
            f"{path}: no such file; it is named under `tables` in the configuration"
        ) from None
    except UnicodeDecodeError as error:
        raise AtparError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from None
    lines = [
        (number, line)
        # Only a line feed ends a row: a cell may hold what else str.splitlines takes for one.
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        return []
    header = _parted(path, *lines[0])
    for column in header:
        if column not in model.model_fields:
            raise AtparError(
                f"{path}, line {lines[0][0]}: unknown column {column!r}; "
                + did_you_mean(column, model.model_fields)
            )
    if len(set(header)) != len(header):
        raise AtparError(f"{path}, line {lines[0][0]}: a column is named twice")
    rows = []
    for number, line in lines[1:]:
        cells = _parted(path, number, line)
        if len(cells) != len(header):
            raise AtparError(
                f"{path}, line {number}: {len(cells)} cells under {len(header)} columns; "
                "cells are parted by single tabs"
            )
        named = zip(header, map(str.strip, cells), strict=True)
        rows.append((number, {name: _typed(cell, model, name) for name, cell in named if cell}))
    return rows


def _parted(path: Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter="\t"))
    except csv.Error as error:
        raise AtparError(f"{path}, line {number}: {error}") from None


def _typed(cell: str, model: type[Model], column: str) -> Any:
    """Return the cell as the column's type if it reads as one, else the text for the message."""
    try:
        adapter = TypeAdapter(model.model_fields[column].annotation)
        # Cells are text, so numbers are parsed here once; a text column stays as it is written.
        return adapter.validate_strings(cell, strict=False)
    except ValidationError:
        return cell


def _check_names(plan: Plan) -> None:
    """Refuse names that refer to nothing."""
    variants = [variant.variant for variant in plan.variants]
    offers = [offer.offer for offer in plan.offers]
    protocol = plan.campaign.protocol
    references = [("protocol.tolerance.reference", protocol.tolerance.reference)]
    references += [("protocol.control", name) for name in protocol.control or []]
    if plan.campaign.tune is not None:
        references.append(("tune.variant", plan.campaign.tune.variant))
    references += [
        (f"`recovers` of variant {variant.variant!r}", variant.recovers)
        for variant in plan.variants
        if variant.recovers
    ]
    for variant, recovered in plan.resumed.items():
        if recovered in plan.resumed:
            raise AtparError(
                f"{plan.campaign.tables.variants}: variant {variant!r} resumes {recovered!r}, "
                "which resumes another one itself; resume the first of them"
            )
    for place, name in references:
        if name not in variants:
            raise AtparError(
                f"{place} is {name!r}, which is no variant in {plan.campaign.tables.variants}; "
                + did_you_mean(name, variants)
            )
    for name in plan.here:
        if name not in offers:
            raise AtparError(
                f"here is {name!r}, which is no offer in {plan.campaign.tables.offers}; "
                + did_you_mean(name, [*offers, *HERE_WORDS])
            )
    subgroups = {"bucket", "label", *plan.campaign.corpus.columns.subgroups}
    for column in protocol.subgroups:
        if column not in subgroups:
            raise AtparError(
                f"protocol.subgroups names {column!r}, which isn't kept from the corpus; "
                "list it under corpus.columns.subgroups, or " + did_you_mean(column, subgroups)
            )
    column = protocol.deliverable_column
    if column is not None and column not in subgroups:
        raise AtparError(
            f"protocol.deliverable_column is {column!r}, which isn't kept from the corpus; "
            "list it under corpus.columns.subgroups, or " + did_you_mean(column, subgroups)
        )
    if protocol.extension.mode == "none" and plan.campaign.repetitions_added:
        raise AtparError("repetitions_added is set, but the sealed protocol allows no extension")
    if protocol.extension.mode != "none" and plan.repetitions > protocol.extension.limit:
        raise AtparError(
            f"{plan.repetitions} repetitions are planned, but the sealed extension limit is "
            f"{protocol.extension.limit}"
        )
