"""The command: subcommands, messages, status, and what it imports."""

import json
import subprocess
import sys

import pytest

from atpar import __version__
from atpar.cli import COMMANDS, main


def test_help_names_every_subcommand(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_subcommand_has_its_own_help(capsys, name):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0 and f"atpar {name}" in capsys.readouterr().out


def test_a_misspelt_subcommand_gets_a_hint(capsys):
    assert main(["prize"]) == 2
    assert "did you mean 'price'?" in capsys.readouterr().err
    assert main([]) == 2
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_price_imports_nothing_heavy(known_tariff):
    code = (
        "import sys; from atpar.cli import main; main(sys.argv[1:]); "
        "print(sorted({'pandas', 'numpy', 'pydantic', 'snakemake'} & set(sys.modules)))"
    )
    words = ["price", "--gpu", "rtx-4090", "--days", "7", "--lots", "2"]
    command = [sys.executable, "-c", code, *words, "--tariff", str(known_tariff)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert answer.splitlines()[0] == "220.00 USD for two GPUs"
    assert answer.splitlines()[-1] == "[]"


def test_a_bad_price_question_is_one_message(capsys, known_tariff):
    words = ["price", "--gpu", "h100", "--days", "7", "--tariff", str(known_tariff)]
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: no price for h100; known: b200") and not said.out


def hourly(capsys, *words):
    status = main(["cost-hourly", *words, "--json"])
    said = capsys.readouterr()
    return json.loads(said.out) if status == 0 else said.err


@pytest.mark.parametrize(
    ("words", "amount", "missing"),
    [
        (
            "--price 2.50 --gpus 4 --hours 10 --storage 3 --transfer 4.50 --retries 7.25",
            "114.75",
            [],
        ),
        ("--price 2.50 --hours 10", "25.00", ["storage", "transfer", "failed retries"]),
        ("--price 1 --hours 62min --step 1h --storage 0 --transfer 0 --retries 0", "2.00", []),
        ("--price 1 --hours 1h --step 1h --storage 0 --transfer 0 --retries 0", "1.00", []),
        ("--price 1 --hours 1min --minimum 1h --storage 0 --transfer 0 --retries 0", "1.00", []),
        ("--price 1 --hours 1 --storage 0 --transfer 0 --retry-hours 2.5", "3.50", []),
        (
            "--price 1 --hours 1 --stopped 2d --storage 0 --transfer 0 --retries 0",
            "1.00",
            ["stopped"],
        ),
        (
            "--price 1 --gpus 2 --hours 1 --stopped 2d --stopped-price 0.05 --storage 2.40 "
            "--transfer 0 --retries 0",
            "9.20",
            [],
        ),
        ("--price 0.333 --hours 3 --storage 0.004 --transfer 0 --retries 0", "1.00", []),
    ],
)
def test_an_hourly_cost_adds_up_and_names_what_is_missing(capsys, words, amount, missing):
    answer = hourly(capsys, *words.split())
    assert (answer["amount"], answer["not_included"]) == (amount, missing)


def test_an_hourly_cost_per_result_is_undefined_without_results(capsys):
    known = ["--price", "3", "--hours", "10"]
    assert hourly(capsys, *known, "--accepted-results", "4")["cost_per_accepted_result"] == "7.50"
    answer = hourly(capsys, *known, "--accepted-results", "0")
    assert answer["cost_per_accepted_result"] is None
    assert "undefined" in answer["cost_per_accepted_result_reason"]
    assert "cost_per_accepted_result" not in hourly(capsys, *known)


def test_a_dearer_gpu_that_halves_the_time_can_cost_less(capsys):  # [P32]
    slow = hourly(capsys, "--price", "1.00", "--hours", "10", "--retry-hours", "4")
    fast = hourly(capsys, "--price", "1.90", "--hours", "5", "--retry-hours", "0")
    assert (slow["amount"], fast["amount"]) == ("14.00", "9.50")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--price -1 --hours 1", "can't be negative"),
        ("--price x --hours 1", "--price is 'x'"),
        ("--price nan --hours 1", "--price is 'nan'"),
        ("--price 1e999999 --hours 1", "--price is '1e999999'"),
        ("--price 1 --hours 1e999999", "no duration"),
        ("--price 1 --hours nan", "no duration"),
        ("--price 1 --hours soon", "no duration"),
        ("--price 1 --hours -1", "can't be negative"),
        ("--price 1 --hours 1 --gpus 0", "at least 1"),
        ("--price 1 --hours 1 --retries 1 --retry-hours 1", "not both"),
        ("--price 1 --hours 1 --step 0s", "longer than nothing"),
        ("--price 1 --hours 1 --accepted-results -2", "can't be negative"),
    ],
)
def test_a_bad_hourly_question_is_one_message(capsys, words, message):
    assert message in hourly(capsys, *words.split())
