"""AMD's combinations are listed, not listed, or unknown; unknown is never a yes."""

import pytest

from atpar.engine.compatibility import TABLE, check, check_environment, read_releases
from atpar.errors import AtparError

HEADER = "rocm,systems,gpus,torch,source,read_on\n"
ROW = "6.4.0,Ubuntu 24.04.2;Debian 12,gfx942;gfx90a,2.6;2.5,https://amd.example/m,2026-11-30\n"


@pytest.fixture
def releases(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("# AMD\n" + HEADER + ROW)
    return read_releases(path)


def test_the_shipped_table_reads_and_every_row_has_its_source():
    found = read_releases()
    assert TABLE.name == "rocm-compatibility.csv"
    assert {"7.1.1", "6.4.0", "6.0.0"} <= found.keys()
    assert all(one.source.startswith("https://") and one.read_on for one in found.values())
    assert all(gpu.startswith("gfx") for one in found.values() for gpu in one.gpus)
    assert found["7.1.1"].torch == ("2.9", "2.8", "2.7")


@pytest.mark.parametrize(
    ("system", "gpu", "rocm", "torch", "verdict"),
    [
        ("Ubuntu 24.04.2 LTS", "gfx942", "6.4.0-47", "2.6.0+rocm6.4", "listed"),
        ("Debian GNU/Linux 12 (bookworm)", "gfx90a", "6.4.0", "2.5.1", "listed"),
        ("Ubuntu 24.04.1 LTS", "gfx942", "6.4.0", "2.6.0", "not listed"),
        ("Ubuntu 24.04.2 LTS", "gfx1201", "6.4.0", "2.6.0", "not listed"),
        ("Ubuntu 24.04.2 LTS", "gfx942", "6.4.0", "2.13.0", "not listed"),
        ("Ubuntu 24.04.2 LTS", "gfx942", "6.4.9", "2.6.0", "unknown"),
        ("Ubuntu 24.04.2 LTS", "gfx942", None, "2.6.0", "unknown"),
        (None, "gfx942", "6.4.0", "2.6.0", "unknown"),
        ("Ubuntu 24.04.2 LTS", None, "6.4.0", "2.60.0", "not listed"),
    ],
)
def test_verdicts(releases, system, gpu, rocm, torch, verdict):
    found = check(system, gpu, rocm, torch, releases)
    assert found["verdict"] == verdict
    assert bool(found["reasons"]) == (verdict != "listed")


def test_what_is_not_listed_is_named_with_what_is(releases):
    [reason] = check("Ubuntu 24.04.2", "gfx1100", "6.4.0", "2.6", releases)["reasons"]
    assert reason == "GPU gfx1100 isn't listed for ROCm 6.4.0; listed: gfx942, gfx90a"


def test_only_amds_devices_are_checked(releases):
    environment = {
        "device": {"kind": "cuda", "gfx": None},
        "software": {"torch": "2.6.0"},
        "system": {"distribution": "Debian GNU/Linux 12 (bookworm)"},
    }
    assert check_environment(environment, releases) is None
    environment["device"] = {"kind": "rocm", "gfx": "gfx942", "rocm": "6.4.0"}
    assert check_environment(environment, releases)["verdict"] == "listed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rocm,gpus\n", "its columns must be"),
        (HEADER + ROW + ROW, "line 3: ROCm 6.4.0 is listed twice"),
        (HEADER + "6.4.0,Debian 12,,2.6,https://x,2026-11-30\n", "line 2: every one"),
    ],
)
def test_a_table_that_cannot_be_read_names_the_line(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(AtparError, match=message):
        read_releases(path)
