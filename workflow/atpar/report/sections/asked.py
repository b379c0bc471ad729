"""What was asked, of which inputs, on which machines, and what the answer doesn't cover."""

from typing import Any

from atpar.decision.decide import NOT_COVERED
from atpar.report.material import Material
from atpar.report.sections.blocks import Callout, Facts, Listing, Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import DASH, Cell, instant, memory, missing, plain

HIDDEN = {"code", "definition", "digest", "reasons", "offer"}


VARIES = {"inspected_at_utc", "disk.bytes_read", "disk.bytes_per_s"}
"""Fields that differ between any two machines and mean nothing by it."""


def environment_section(material: Material) -> Section:
    """Return what is really on each machine, side by side; what couldn't be read says why."""
    offers = list(material.environments)
    columns = [
        Column("What", "name"),
        *(Column(offer, f"value {offer}", wide=True, reason=f"reason {offer}") for offer in offers),
    ]
    if len(offers) > 1:
        columns.insert(1, Column("Same", "same", marks={"no": "caution"}, empty=""))
    found = table(
        "environment",
        "Each offer as read from the machine on which it was measured. Where software or hardware "
        "differ, whole configurations are compared, never single parts of them.",
        columns,
        _side_by_side(material.environments),
        empty="No environment was recorded: no offer has been inspected yet.",
    )
    return Section(
        "environment",
        "Environment",
        "Read from the machines as they are, never assumed from a card's name.",
        [found],
    )


def _side_by_side(environments: dict[str, dict[str, Any]]) -> list[Row]:
    """Return one row for each field that any environment has, with each offer's value."""
    flat = {
        offer: {row["name"]: row for row in flatten(environment)}
        for offer, environment in environments.items()
    }
    rows = []
    for name in dict.fromkeys(name for fields in flat.values() for name in fields):
        row: Row = {"name": name}
        for offer, fields in flat.items():
            own = fields.get(name, {"value": "", "reason": "this machine has no such field"})
            row |= {f"value {offer}": own["value"], f"reason {offer}": own["reason"]}
        same = len({row[f"value {offer}"] for offer in flat}) == 1
        rows.append({**row, "same": "" if name in VARIES else "yes" if same else "no"})
    return rows


def flatten(document: dict[str, Any]) -> list[Row]:
    """Return a nested document as rows `dotted.name`, value and, for null, its reason.

    A reason may stand at the field itself or at a part above it.
    """
    reasons = document.get("reasons") or {}
    rows: list[Row] = []

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict) and value:
            for key, one in value.items():
                walk(one, f"{path}.{key}" if path else str(key))
        elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
            for index, one in enumerate(value):
                walk(one, f"{path}.{index}")
        else:
            known = value is not None and value != ""
            rows.append(
                {
                    "name": path,
                    "value": _shown(path, value) if known else "",
                    "reason": "" if known else _reason(reasons, path),
                }
            )

    for key, value in document.items():
        if key not in HIDDEN:
            walk(value, str(key))
    return rows


def _shown(path: str, value: Any) -> str:
    """Return a field's value; sizes and instants by the ending of their name."""
    if isinstance(value, int) and path.endswith("_bytes"):
        return memory(str(value))
    return instant(value) if isinstance(value, str) and path.endswith("_utc") else plain(value)


def _reason(reasons: dict[str, str], path: str) -> str:
    """Return the reason given for `path` or the nearest part above it."""
    if path.startswith("software.") and path not in reasons:
        return "it isn't installed"
    while path:
        if path in reasons:
            return str(reasons[path])
        path = path.rpartition(".")[0]
    return ""


def protocol_section(material: Material) -> Section:
    """Return the seal, the sealed rules, and the inputs with their digests."""
    seal = material.document("seal")
    sealed = seal.get("sealed") or {}
    blocks: list[Any] = []
    if seal:
        blocks.append(
            Facts(
                [
                    ("Seal (SHA-256)", _value(seal.get("digest"))),
                    ("Sealed at", Cell(instant(str(seal.get("sealed_at_utc", DASH))))),
                    ("Evaluation corpus", _value(sealed.get("evaluation_digest"))),
                    ("Reference answers", _value(sealed.get("reference_digest"))),
                ],
                "Seal",
            )
        )
        blocks.append(
            table(
                "protocol",
                "The sealed protocol: what was fixed before any duration was seen.",
                (Column("Rule", "name"), Column("Sealed as", "value", empty="none")),
                flatten(sealed.get("protocol") or {}),
            )
        )
    else:
        blocks.append(Callout("The protocol isn't sealed yet: protocol/seal.json isn't there."))
    blocks += _inputs(material)
    return Section(
        "protocol",
        "Seal and protocol",
        "The question and its rules were fixed before the durations were seen. Whoever changes "
        "them afterwards needs another evaluation corpus.",
        blocks,
    )


def _inputs(material: Material) -> list[Facts]:
    """Return the fingerprints of corpus and model."""
    facts = []
    corpus = material.document("corpus")
    if corpus:
        keys = (
            "corpus_digest",
            "rows_in",
            "rows_out",
            "entries",
            "buckets",
            "tokens",
            "seed",
            "rare_classes",
            "policy_counts",
            "notes",
        )
        facts.append(Facts([_input(key, corpus) for key in keys], "Corpus"))
    model = material.document("model")
    if model:
        keys = (
            "source",
            "revision",
            "architecture",
            "head",
            "model_digest",
            "weights_digest",
            "tokenizer_digest",
            "parameters",
            "dtype",
            "usable_length",
            "notes",
        )
        facts.append(Facts([_input(key, model) for key in keys], "Model"))
    return facts


def _name(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _value(value: Any) -> Cell:
    return missing("it isn't recorded") if value is None else Cell(plain(value))


def _input(key: str, document: dict[str, Any]) -> tuple[str, Cell]:
    """Return a fact of a fingerprint; a seed is a name, not a quantity to be grouped."""
    value = document.get(key)
    return _name(key), _value(str(value) if key == "seed" and value is not None else value)


def coverage_section(material: Material) -> Section:
    """Return the load that the answer covers, and what it says nothing about [P3]."""
    decision = material.document("decision")
    return Section(
        "coverage",
        "What the answer doesn't cover",
        "For anything that isn't covered, the useful unit and the checks have to be defined anew "
        "first.",
        [
            Listing(decision.get("not_covered") or list(NOT_COVERED), "Not covered"),
            Listing(decision.get("covered") or ["Nothing was decided yet."], "Covered"),
        ],
    )
