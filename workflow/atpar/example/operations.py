"""Descriptions of cloud API operations, read from the botocore wheel as plain text."""

import gzip
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import NamedTuple

_SERVICE_FILE = re.compile(
    r"botocore/data/(?P<service>[^/]+)/(?P<date>\d{4}-\d{2}-\d{2})/service-2\.json\.gz"
)
# Tags inside a sentence; every other tag parts two words.
_INLINE = frozenset(["a", "b", "code", "em", "i", "span", "strong", "sub", "sup", "u"])


class Operation(NamedTuple):
    """One text of the example: `id` is `service:Operation`, `label` the service."""

    id: str
    text: str
    label: str


class _PlainText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def handle_starttag(self, tag: str, attrs: list) -> None:  # noqa: ARG002 - the parser's call
        if tag not in _INLINE:
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.pieces.append(" ")


def plain_text(html: str) -> str:
    """Return the text of an HTML fragment with its white space folded to single spaces."""
    parser = _PlainText()
    parser.feed(html)
    parser.close()
    return " ".join("".join(parser.pieces).split())


def newest_service_files(names: Iterable[str]) -> dict[str, str]:
    """Return service -> name of its newest `service-2.json.gz` (dates sort as text)."""
    newest: dict[str, tuple[str, str]] = {}
    for name in names:
        match = _SERVICE_FILE.fullmatch(name)
        if match:
            service = match["service"]
            newest[service] = max(newest.get(service, ("", "")), (match["date"], name))
    return {service: name for service, (_, name) in sorted(newest.items())}


def read_operations(wheel: zipfile.ZipFile) -> list[Operation]:
    """Return every described operation of every service's newest version, ordered by id."""
    operations = []
    for service, name in newest_service_files(wheel.namelist()).items():
        described = json.loads(gzip.decompress(wheel.read(name)))["operations"]
        for operation, content in described.items():
            text = plain_text(content.get("documentation") or "")
            if text:
                operations.append(Operation(f"{service}:{operation}", text, service))
    return sorted(operations)


def largest_services(operations: Iterable[Operation], count: int) -> list[Operation]:
    """Keep the operations of the `count` services that have most (ties: by name)."""
    operations = list(operations)
    sizes = Counter(operation.label for operation in operations)
    kept = sorted(sizes, key=lambda service: (-sizes[service], service))[:count]
    return [operation for operation in operations if operation.label in kept]


def words(text: str) -> tuple[str, ...]:
    """Return the text's words without regard to case, punctuation and white space."""
    return tuple(re.findall(r"\w+", text.casefold()))


def without_repeats(operations: Iterable[Operation]) -> list[Operation]:
    """Leave out texts whose words stand under two labels, and all but the first of repeats.

    The same words under two labels have no right answer; repeats within a label could stand on
    both sides of the split. "First" is by order of `operations`.
    """
    groups: dict[tuple[str, ...], list[Operation]] = defaultdict(list)
    for operation in operations:
        groups[words(operation.text)].append(operation)
    kept = {group[0].id for group in groups.values() if len({one.label for one in group}) == 1}
    return [operation for operation in operations if operation.id in kept]
