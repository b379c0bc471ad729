"""Digest of the code that a rule runs: syntax trees, docstrings aside.

A comment, a docstring or a reformatted line leaves a digest as it is, so that no paid pass is
repeated for it; a changed statement in the script, or in any atpar module that it imports directly
or through others, changes it.
"""

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent


def code_digest(script: Path, modules: Iterable[str] = ()) -> str:
    """Return the digest of `script`, the atpar modules it imports (transitively), and `modules`.

    `modules` names those that run without being imported, such as a worker's own process.
    """
    return _digest((script.resolve(), *(_file(module) for module in modules)))


@cache
def _digest(scripts: tuple[Path, ...]) -> str:
    # Asked for with every job of a rule.
    files = _closure(scripts)
    parts = sorted(f"{path.name}:{_scan(path).digest}" for path in files)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def imported_modules(script: Path) -> set[str]:
    """Return the names of the atpar modules that `script` imports, transitively."""
    return {_name(path) for path in _closure([script.resolve()]) - {script.resolve()}}


def _closure(files: Iterable[Path]) -> set[Path]:
    """Return `files` and every atpar module that they import, transitively."""
    seen = set(files)
    waiting = list(seen)
    while waiting:
        found = _scan(waiting.pop()).imports - seen
        seen |= found
        waiting.extend(found)
    return seen


@dataclass(frozen=True)
class _Scan:
    """What one file is, and which files of the package it imports."""

    digest: str
    imports: frozenset[Path]


@cache
def _scan(path: Path) -> _Scan:
    tree = ast.parse(path.read_bytes(), filename=str(path))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstrings(node)
    digest = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return _Scan(digest, frozenset(file for name in names for file in _files(name)))


def _files(name: str) -> list[Path]:
    """Return the files that importing `name` runs: the packages on the way, and the module."""
    parts = name.split(".")
    if parts[0] != PACKAGE.name:
        return []
    dotted = (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return [file for file in map(_file, dotted) if file.exists()]


def _drop_docstrings(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> None:
    """Remove bare strings from a body: the docstring, and those that follow an attribute."""
    node.body = [
        statement
        for statement in node.body
        if not (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        )
    ]


@cache
def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _name(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
    return ".".join(parts)
