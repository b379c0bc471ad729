"""Where the rules' scripts take the memory of their tables from."""

import importlib.util
from pathlib import Path

import pytest

_path = Path(__file__).with_name("injected.py")
_spec = importlib.util.spec_from_file_location("injected", _path)
faults = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(faults)

POOL = "ARROW_DEFAULT_MEMORY_POOL"


@pytest.mark.parametrize(("set_by_user", "used"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_scripts_take_memory_from_the_c_library_unless_the_user_says_otherwise(
    measured, tmp_path, monkeypatch, set_by_user, used
):
    monkeypatch.delenv(POOL, raising=False)
    if set_by_user:
        monkeypatch.setenv(POOL, set_by_user)
    told = tmp_path / "pool"
    tell = f"open({str(told)!r}, 'w').write(pa.default_memory_pool().backend_name)"
    with faults.injected(measured, "atpar.quality.check", tell):
        rule = "check_predictions"
        measured.snakemake("--forcerun", rule, "--until", rule)
    assert told.read_text() == used
