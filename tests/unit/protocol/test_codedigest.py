"""Digests of code ignore what can't change a result and see everything else."""

from pathlib import Path

import pytest

from atpar.protocol import codedigest


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `atpar` with rooms a -> b -> c and an unrelated d, and a script that imports a."""
    root = tmp_path / "workflow"
    files = {
        "atpar/__init__.py": '"""Package."""\n',
        "atpar/a/__init__.py": "",
        "atpar/a/one.py": "from atpar.b import two\nVALUE = two.VALUE\n",
        "atpar/b/__init__.py": "",
        "atpar/b/two.py": "import atpar.c.three\nVALUE = 1\n",
        "atpar/c/__init__.py": "",
        "atpar/c/three.py": "def three():\n    return 3\n",
        "atpar/d/__init__.py": "",
        "atpar/d/four.py": "VALUE = 4\n",
        "scripts/stage.py": "from atpar.a.one import VALUE\nprint(VALUE)\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(codedigest, "PACKAGE", root / "atpar")
    monkeypatch.setattr(codedigest, "ROOT", root)
    return root


def digest_of(root: Path, modules=()) -> str:
    for function in (codedigest._digest, codedigest._scan, codedigest._file):
        function.cache_clear()
    return codedigest.code_digest(root / "scripts/stage.py", modules)


def test_imports_are_followed_to_the_end(package):
    digest_of(package)
    assert codedigest.imported_modules(package / "scripts/stage.py") == {
        "atpar", "atpar.a", "atpar.a.one", "atpar.b", "atpar.b.two", "atpar.c", "atpar.c.three",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["scripts/stage.py", "atpar/a/one.py", "atpar/c/three.py"])
def test_a_changed_statement_changes_it(package, name):
    before = digest_of(package)
    path = package / name
    path.write_text(path.read_text() + "ADDED = 1\n")
    assert digest_of(package) != before


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\ndef three():\n    return 3\n",
        '"""A docstring."""\n\n\ndef three():\n    """Return three."""\n    return 3\n',
        "def three():\n\n    return (\n        3\n    )\n",
    ],
    ids=["comment", "docstring", "layout"],
)
def test_what_cannot_change_a_result_leaves_it(package, text):
    before = digest_of(package)
    (package / "atpar/c/three.py").write_text(text)
    assert digest_of(package) == before


def test_a_room_that_is_not_imported_leaves_it(package):
    before = digest_of(package)
    (package / "atpar/d/four.py").write_text("VALUE = 5\n")
    assert digest_of(package) == before


def test_a_module_in_a_process_of_its_own_counts_when_named(package):
    named = digest_of(package, ["atpar.d.four"])
    (package / "atpar/d/four.py").write_text("VALUE = 5\n")
    assert digest_of(package, ["atpar.d.four"]) != named


def test_a_named_module_that_does_not_exist_is_an_error(package):
    with pytest.raises(FileNotFoundError):
        digest_of(package, ["atpar.nowhere"])
