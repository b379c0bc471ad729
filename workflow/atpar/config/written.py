"""What YAML hides of what a person wrote.

It takes the last of two equal keys, and 010 for 8 and 1:30 for 90, without a word: both would be
sealed as something that nobody meant. Light: it runs when the Snakefile is parsed.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from atpar.errors import AtparError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE = "tag:yaml.org,2002:merge"
_ODD = re.compile(r"[-+]?0[0-9_]+|.*:.*")
"""A number with a leading zero, which is octal, or one with colons, which counts in sixties."""


def as_written(
    paths: Iterable[str | Path], arguments: Iterable[str] = ()
) -> list[tuple[str, yaml.Node]]:
    """Return (name of a file, its YAML as it is written), and the same of `--config` arguments.

    What is no YAML is left out: whoever reads its values says what is wrong with it.
    """
    texts = []
    for path in map(Path, paths):
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        try:
            texts.append((str(shown), path.read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError):
            continue
    texts += [(f"--config {one}", one.partition("=")[2]) for one in arguments]
    found = []
    for where, text in texts:
        try:
            node = yaml.compose(text, _LOADER)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        if node is not None:
            found.append((where, node))
    return found


def refuse_repeated_keys(written: Iterable[tuple[str, yaml.Node]]) -> None:
    """Raise AtparError for a key that stands twice in one mapping."""
    for where, root in written:
        for node in _nodes(root):
            seen: dict[str, int] = {}
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                    continue
                if key.value in seen:
                    raise AtparError(
                        f"{where}, lines {seen[key.value]} and {_line(key)}: {key.value!r} is "
                        "written twice, and only the last would count; keep one"
                    )
                seen[key.value] = _line(key)


def refuse_odd_numbers(written: Iterable[tuple[str, yaml.Node]]) -> None:
    """Raise AtparError for whole numbers with a leading zero, and for numbers with colons."""
    for where, root in written:
        for node in _nodes(root):
            if not isinstance(node, yaml.ScalarNode) or node.tag not in _NUMBERS:
                continue
            if _ODD.fullmatch(node.value):
                base = "with colons it counts in sixties" if ":" in node.value else "it is octal"
                raise AtparError(
                    f"{where}, line {_line(node)}: YAML reads {node.value} as "
                    f"{yaml.safe_load(node.value)}, since {base}; write the number that is meant "
                    "without leading zeros and colons"
                )


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def _nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield each node once, however often aliases name it."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting += [one for pair in reversed(node.value) for one in reversed(pair)]
        elif isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
