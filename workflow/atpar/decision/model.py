"""What decision.json holds, as typed models; decision.schema.json is exported from them.

Run `python -m atpar.decision.model` after a model changed; a test compares.
"""

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from atpar.canonical import write_text

DEFINITION = 1
"""Version of how a decision follows from the tables."""

SCHEMA = Path(__file__).with_name("decision.schema.json")
"""JSON Schema of decision.json, for those who read it with other tools."""

Outcome = Literal["chosen", "tied", "none", "screening", "unfinished"]


class Part(BaseModel):
    """No unknown fields; each field is explained by the text below it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class OptionKey(Part):
    """An option: offer x variant."""

    offer: str
    variant: str

    def __str__(self) -> str:
        return f"{self.variant} on {self.offer}"


class Objection(Part):
    """Why an option isn't admissible."""

    check: Literal[
        "unfinished",
        "work",
        "memory",
        "failures",
        "quality",
        "deliverables",
        "coverage",
        "deadline",
        "cost",
    ]
    sentence: str


class Option(Part):
    """One option's row of the balance [P35], and whether it may be chosen."""

    offer: str
    variant: str
    admissible: bool
    objections: list[Objection]
    quality_verdict: str
    metric_value: str | None
    durations_s: str | None
    """Raw durations in measured order, parted by semicolons."""
    median_s: str | None
    successes: int
    failures: int
    excluded: int
    window_h: str | None
    engaged_amount: str | None
    currency: str | None
    engaged_reason: str | None
    unknown_items: list[str] = Field(default_factory=list)
    """Items that the engaged amount and the cost per deliverable lack: they aren't known."""
    deliverables_accepted: int
    deliverables_expected: int
    cost_per_deliverable: str | None
    cost_per_deliverable_reason: str | None

    @property
    def key(self) -> OptionKey:
        """The option's name."""
        return OptionKey(offer=self.offer, variant=self.variant)


class Span(Part):
    """The shortest median among the admissible options."""

    option: OptionKey
    median_s: str
    minimum_s: float
    """The sealed minimum of a measured span."""
    screening: bool
    """Whether the median is below it, so that no decision can rest on the series."""


class Threat(Part):
    """Something seen in the series that a reader must know before relying on it."""

    name: str
    sentence: str


class Margin(Part):
    """How far something may move before the choice changes."""

    what: Literal["price", "duration", "expense", "threshold", "pass"]
    """The price of the chosen offer's rental, its window, the choice's own expenses, the sealed
    minimum, or a pass."""
    offer: str
    against: str | None
    """What would be chosen then."""
    margin: str | None
    """Null: further than was looked."""
    unit: str
    sentence: str


class Deciding(Part):
    """What the campaign itself engages."""

    amount: str
    currency: str
    without: list[str]
    """Items whose amount isn't known."""
    sentence: str


class Decision(Part):
    """The answer to the sealed question, with everything that it follows from."""

    definition: int = DEFINITION
    campaign: str
    question: str
    scenario: str
    seal_digest: str
    outcome: Outcome
    """`chosen`; `tied`: several aren't told apart; `none`: nothing is admissible; `screening`:
    the spans are too short to carry a decision; `unfinished`: planned passes are missing."""
    choice: OptionKey | None
    """The chosen option; null unless the outcome is `chosen`."""
    leading: list[OptionKey]
    """The option or options that come first as far as the tables go."""
    options: list[Option]
    not_measured: list[OptionKey] = Field(default_factory=list)
    """Planned options without any attempt."""
    separated_by: list[str]
    """Sentences: what tells the leading options from the other admissible ones."""
    shortest_span: Span | None = None
    """Null: no option is admissible."""
    groups: list[list[OptionKey]]
    """All options with durations, quickest group first."""
    covered: list[str]
    not_covered: list[str]
    threats: list[Threat]
    margins: list[Margin] = Field(default_factory=list)
    """What would change the answer."""
    deciding: Deciding | None = None
    """Null: the ledger wasn't at hand."""
    next_step: str | None
    """What may be done about a campaign that carries no choice: the sealed extension, a longer
    corpus; null: nothing."""


def schema_text() -> str:
    """Return the JSON Schema of decision.json."""
    schema = Decision.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_text(SCHEMA, schema_text())
