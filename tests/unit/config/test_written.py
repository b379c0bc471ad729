"""What YAML would hide is refused: a key written twice, and numbers in other bases."""

import pytest

from atpar.config.files import read_config
from atpar.config.written import as_written, refuse_odd_numbers, refuse_repeated_keys
from atpar.errors import AtparError


def refused(refuse, path, text, arguments=()):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AtparError) as found:
        refuse(as_written([path], arguments))
    return str(found.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "lines 1 and 3: 'a' is written twice"),
        ("p:\n  x: 1\n  y: {z: 1, z: 2}\n", "lines 3 and 3: 'z' is written twice"),
        ("l:\n- a: 1\n- b: 1\n  c: 2\n  b: 3\n", "lines 3 and 5: 'b' is written twice"),
        ('{"a": 1,\n "a": 2}', "lines 1 and 2: 'a' is written twice"),
        ("\ufeffa: 1\n'a': 2\n", "lines 1 and 2: 'a' is written twice"),
    ],
)
def test_a_key_written_twice_is_refused(tmp_path, text, said):
    path = tmp_path / "c.yaml"
    assert refused(refuse_repeated_keys, path, text).startswith(f"{path}, {said}")
    with pytest.raises(AtparError, match="written twice"):
        read_config([path])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("010", "8"),
        ("-010", "-8"),
        ("0_17", "15"),
        ("1:30", "90"),
        ("-1:30", "-90"),
        ("1:30.5", "90.5"),
        ("22:30", "1350"),
    ],
)
def test_a_number_in_another_base_is_refused(tmp_path, written, meant):
    path = tmp_path / "c.yaml"
    said = refused(refuse_odd_numbers, path, f"a: 1\nb: [x, {written}]\n")
    assert said.startswith(f"{path}, line 2: YAML reads {written} as {meant}, since")
    with pytest.raises(AtparError, match="YAML reads"):
        read_config([path])


@pytest.mark.parametrize(
    "text",
    [
        "a: [0, 7, -3, 1_000, 0x10, 0b11, 0.5, 010.5, 1.5e+3, .inf]\n",
        "a: ['010', \"1:30\", 08, 1e3, 2026-01-01, 00:00:00:x]\n",
        "a: {x: 1}\nb: {x: 1}\n",
        "base: &b {x: 1}\none: {<<: *b, y: 2}\ntwo: {<<: *b, x: 3}\n",
        "a: &a\n- *a\n- *a\n",
        "a: !mine 010\n",
        "",
        "\t{",
    ],
)
def test_the_rest_is_left_to_those_who_read_it(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    written = as_written([path, tmp_path / "none.yaml"])
    refuse_repeated_keys(written)
    refuse_odd_numbers(written)


def test_the_command_line_is_read_as_strictly():
    with pytest.raises(AtparError, match=r"--config p={a: 1, a: 2}, lines 1 and 1: 'a' is"):
        refuse_repeated_keys(as_written([], ["ok=1", "p={a: 1, a: 2}"]))
    with pytest.raises(AtparError, match=r"--config n=010, line 1: YAML reads 010 as 8"):
        refuse_odd_numbers(as_written([], ["n=010"]))


def test_aliases_of_aliases_take_no_time(tmp_path):
    lines = ["a0: &a0 [1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    path = tmp_path / "c.yaml"
    path.write_text("\n".join(lines))
    refuse_odd_numbers(as_written([path]))
