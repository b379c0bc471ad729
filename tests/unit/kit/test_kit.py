"""The kit stands on its own: copied away, with nothing but Python."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from atpar.decision.tables import ATTEMPTS
from atpar.money import calculator

FILES = {
    "LICENSE",
    "README.md",
    "attempts.csv",
    "iteragpu-2026-09-24.csv",
    "measure_memory.ipynb",
    "measure_memory.py",
    "price.py",
    "quality-protocol.md",
}


def price(folder, *words):
    # -I and -S: neither this environment's packages nor this folder are in reach.
    command = [sys.executable, "-I", "-S", str(folder / "price.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_the_kit_is_complete(kit):
    assert {path.name for path in kit.iterdir() if path.name != "__pycache__"} == FILES


def test_the_workflow_uses_the_kits_calculator(kit):
    assert Path(calculator.__file__).resolve() == (kit / "price.py").resolve()


@pytest.mark.parametrize("name", ["LICENSE", "iteragpu-2026-09-24.csv"])
def test_copies_in_the_kit_are_current(kit, known_tariff, name):
    original = {"LICENSE": kit.parents[1] / "LICENSE"}.get(name, known_tariff)
    assert (kit / name).read_bytes() == original.read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--gpu rtx-4090 --days 7 --lots 2", "220.00 USD for two GPUs"),
        ("--gpu b200 --days 7 --lots 1", "2071.00 USD for two GPUs"),
        ("--gpu b200 --days 7 --accepted-results 0", "undefined"),
        ("--gpu rtx-4090 --window 96h", "72 h unused"),
        (
            "--gpu b200 --from 2026-12-07T09:00+01:00 --to 2026-12-11T09:00+01:00",
            "window: 96.00 h",
        ),
    ],
)
def test_the_calculator_works_alone_beside_its_tariff(kit, tmp_path, words, expected):
    shutil.copy(kit / "price.py", tmp_path)
    shutil.copy(kit / "iteragpu-2026-09-24.csv", tmp_path)
    answer = price(tmp_path, *words.split())
    assert (answer.returncode, answer.stderr) == (0, "")
    assert expected in answer.stdout


def test_without_a_tariff_it_says_what_is_missing(kit, tmp_path):
    shutil.copy(kit / "price.py", tmp_path)
    answer = price(tmp_path, "--gpu", "b200", "--days", "7")
    assert answer.returncode == 2 and "no tariff file found" in answer.stderr


@pytest.mark.parametrize("name", ["price.py", "measure_memory.py"])
def test_the_scripts_are_python_3_10(kit, name):
    ast.parse((kit / name).read_text(encoding="utf-8"), feature_version=(3, 10))


def test_the_calculator_imports_the_standard_library_alone(kit):
    tree = ast.parse((kit / "price.py").read_text(encoding="utf-8"))
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names


def test_the_attempts_table_is_blank_and_has_the_products_columns(kit):
    header, *rest = (kit / "attempts.csv").read_text(encoding="utf-8").splitlines()
    assert not rest and set(header.split(",")) <= set(ATTEMPTS.columns)
    for name in ("expected_ids", "observed_ids", "ids_match", "corpus_accepted", "notes"):
        assert name in header.split(",")


def test_the_notebook_is_blank_and_its_cells_compile(kit):
    notebook = json.loads((kit / "measure_memory.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    for cell in cells:
        compile("".join(cell["source"]), "cell", "exec")


def test_memory_is_measured_by_counter_and_what_is_missing_has_a_reason(kit, tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one", "two"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = BertConfig(vocab_size=7, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                        intermediate_size=8)  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    (tmp_path / "texts.txt").write_text("one two\n\ntwo\none\n", encoding="utf-8")
    words = ["--model", str(tmp_path), "--texts", str(tmp_path / "texts.txt"), "--batch-size", "2"]
    command = [sys.executable, str(kit / "measure_memory.py"), *words]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)
    assert found["entries"] == found["entries_done"] == 3 and found["failure"] is None
    assert found["counters"]["host_rss_peak_bytes"] > found["counters"]["parameter_bytes"] > 0
    assert found["counters"].keys() == found["scopes"].keys()
    if not torch.cuda.is_available():
        assert found["counters"]["allocated_peak_bytes"] is None
        assert found["reasons"]["allocated_peak_bytes"] == "the model ran on the CPU"
