"""What a section of the page is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from atpar.report.values import Cell, Mark


@dataclass(frozen=True)
class Prose:
    """A paragraph of plain text, or text that was rendered to safe HTML before."""

    text: str | Markup
    kind: str = "prose"


@dataclass(frozen=True)
class Callout:
    """Something the reader must not miss."""

    text: str
    kind: str = "callout"


@dataclass(frozen=True)
class Answer:
    """The answer in one look: a word for the outcome, its sign, and a sentence or two."""

    outcome: str
    mark: Mark
    text: Markup
    kind: str = "answer"


@dataclass(frozen=True)
class Facts:
    """Named values: (name, cell) pairs under an optional title."""

    pairs: Sequence[tuple[str, Cell]]
    title: str = ""
    kind: str = "facts"


@dataclass(frozen=True)
class Listing:
    """A list of sentences under an optional title."""

    items: Sequence[str | Markup]
    title: str = ""
    kind: str = "listing"


@dataclass(frozen=True)
class Section:
    """One part of the page with its place in the contents."""

    name: str
    title: str
    lead: str
    blocks: list[Any] = field(default_factory=list)
