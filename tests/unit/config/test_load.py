"""The configuration is checked whole, and every fault is said in words a person can act on."""

import re
import shlex
from typing import get_args

import pytest

from atpar.calendar.tasks import Task
from atpar.config.base import Model
from atpar.config.campaign import Campaign
from atpar.config.exclusions import Exclusion
from atpar.config.expenses import Expense
from atpar.config.load import check, load_plan
from atpar.config.offers import Offer
from atpar.config.overrides import with_overrides
from atpar.config.variants import Variant
from atpar.errors import AtparError

VARIANTS = "variant\tbatch_size\tprecision\nb1\t1\t\nb8\t8\tbf16\n"
OFFERS = "offer\tprovider\tgpu\tlots\tthreads\nnode\tacme\tcpu\t1\t2\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/variants.tsv").write_text(VARIANTS, encoding="utf-8")
    (tmp_path / "config/offers.tsv").write_text(OFFERS, encoding="utf-8")
    return tmp_path


def configuration(**changes):
    return {
        "campaign": "trial",
        "corpus": {"files": ["corpus.csv"]},
        "model": {"path": "model"},
        "protocol": {"tolerance": {"reference": "b1"}},
        **changes,
    }


def refusal(folder, **changes):
    with pytest.raises(AtparError) as refused:
        load_plan(configuration(**changes), folder)
    return str(refused.value)


def test_tables_are_typed_and_empty_cells_take_the_default(folder):
    plan = load_plan(configuration(), folder)
    b1, b8 = plan.variants
    assert (b1.variant, b1.batch_size, b1.precision) == ("b1", 1, "fp32")
    assert (b8.batch_size, b8.precision) == (8, "bf16")
    assert plan.offer("node").threads == 2
    assert plan.here == ("node",)
    assert plan.repetitions == 5


@pytest.mark.parametrize(
    ("here", "expected"),
    [("all", ("node",)), ("none", ()), ("node", ("node",)), (["node"], ("node",))],
)
def test_here_names_the_offers_of_this_machine(folder, here, expected):
    assert load_plan(configuration(here=here), folder).here == expected


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"protocl": {}}, ["unknown option 'protocl'", "did you mean 'protocol'?"]),
        (
            {"protocol": {"tolerance": {"refrence": "b1", "reference": "b1"}}},
            ["'protocol.tolerance.refrence'", "did you mean 'reference'?"],
        ),
        (
            {"corpus": {"files": ["a"], "sample": {"buckets": [{"name": "x", "entrys": 3}]}}},
            ["entrys", "did you mean 'entries'?"],
        ),
        ({"campaign": 2026}, ["campaign is 2026", "quotes"]),
        ({"campaign": "a/b"}, ["'a/b' can't be a name"]),
        ({"campaign": ".."}, ["'..' can't be a name"]),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "repetitions": True}},
            ["repetitions is True"],
        ),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "deadline": 1350}},
            ["deadline is 1350", "quotes"],
        ),
        ({"protocol": {"tolerance": {"reference": "b1", "largest_drop": "1e-3"}}}, ["'1e-3'"]),
        ({"protocol": {"tolerance": {"reference": "b2"}}}, ["'b2'", "config/variants.tsv", "b1"]),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "control": ["b1", "b8"]}},
            ["'b1' and 'b8'", "precision (fp32 and bf16), batch_size (1 and 8)"],
        ),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "control": ["b1", "b1"]}},
            ["'b1' twice", "config/variants.tsv"],
        ),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "failed_passes_accepted": 5}},
            ["failed_passes_accepted is 5", "5 repetitions"],
        ),
        ({"here": "nod"}, ["'nod'", "did you mean 'node'?"]),
        ({"model": {"path": "m", "hub": "o/n"}}, ["either `path`"]),
        ({"model": {"hub": "o/n"}}, ["revision"]),
        ({"model": {"hub": "o/n", "revision": "main"}}, ["revision: 'main' is no full"]),
        ({"protocol": {"tolerance": {"reference": "b1"}, "subgroups": ["buckett"]}}, ["'buckett'"]),
        ({"repetitions_added": 6}, ["11 repetitions", "limit is 10"]),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "metric": "neg_mae", "minimum": -1}},
            ["protocol.metric names neg_mae", "kind 'single'", "take accuracy"],
        ),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "minimum": float("inf")}},
            ["protocol.minimum is inf", "finite number"],
        ),
        (
            {"protocol": {"tolerance": {"reference": "b1"}, "metric": "neg_log_loss"}},
            ["neg_log_loss", "never above 0", "minimum below 0"],
        ),
        (
            {
                "model": {"path": "m", "labels": ["cat", "dog"]},
                "protocol": {"tolerance": {"reference": "b1"}, "metrics": ["f1[dogg]"]},
            },
            ["protocol.metrics names f1[dogg]", "did you mean 'dog'?"],
        ),
        (
            {"model": {"path": "m", "head": "multi_label"}},
            ["model.head is 'multi_label'", "label_kind is 'single'", "kind 'multiple'"],
        ),
        (
            {"corpus": {"files": ["a"], "columns": {"label_separator": ";"}}},
            ["label_separator is ';'", "label_kind: multiple"],
        ),
        (
            {
                "corpus": {
                    "files": ["a"],
                    "columns": {"label_kind": "number"},
                    "label_map": {"1": "one"},
                }
            },
            ["label_map maps labels", "`number`"],
        ),
        (
            {"corpus": {"files": ["a"], "columns": {"label": None}, "label_map": {"a": "b"}}},
            ["corpus: label_map maps labels", "columns.label is null"],
        ),
        ({"here": ["node", "node"]}, ["here names 'node' twice"]),
        ({"here": ["node", "all"]}, ["here lists 'all'", "stands alone: here: all"]),
    ],
)
def test_each_fault_is_named_with_its_remedy(folder, changes, said):
    message = refusal(folder, **changes)
    for part in said:
        assert part in message, message
    assert "\n" not in message or "configuration" in message


def test_granted_rounds_are_planned_only_under_the_rule_that_grants_them(folder):
    def planned(mode, **more):
        rule = {"tolerance": {"reference": "b1"}, "extension": {"mode": mode, "limit": 8}}
        return load_plan(configuration(protocol=rule, **more), folder)

    assert planned("automatic").repetitions == 5
    path = folder / "results" / configuration()["campaign"] / "protocol" / "extensions.jsonl"
    path.parent.mkdir(parents=True)
    grant = '{"event":"extended","repetition":%d}\n'
    path.write_text(grant % 6 + grant % 7)
    assert planned("automatic").repetitions == 7
    assert planned("automatic", repetitions_added=1).repetitions == 7
    assert planned("automatic", repetitions_added=3).repetitions == 8
    assert planned("propose").repetitions == 5
    assert planned("automatic").with_granted(3).repetitions == 8
    # A grant after rounds of `repetitions_added` is one more than those.
    path.write_text(grant % 8)
    assert planned("automatic", repetitions_added=2).repetitions == 8
    path.write_text(grant % 9)
    with pytest.raises(AtparError, match=r"9 repetitions are planned.*limit is 8"):
        planned("automatic")


def test_a_missing_part_is_named(folder):
    broken = configuration()
    del broken["model"]
    with pytest.raises(AtparError, match="model: missing"):
        load_plan(broken, folder)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("variant\tbatch_size\nb1\t1\nB1\t2\n", ["line 3", "'B1' is used twice", "line 2"]),
        ("variant\tbatch_sise\nb1\t1\n", ["'batch_sise'", "did you mean 'batch_size'?"]),
        ("variant\tbatch_size\nb1\tmany\n", ["line 2", "batch_size is 'many'"]),
        ("variant\tbatch_size\nb1\t0\n", ["line 2", "batch_size is 0"]),
        ("variant\tbatch_size\nb1\n", ["line 2", "1 cells under 2 columns"]),
        ("variant\tbatch_size\n", ["no rows"]),
        ("", ["no rows"]),
        ("variant\tbatch_size\tprecision\nb1\t1\tfp64\n", ["line 2", "'fp64'", "'bf16'"]),
        ("variant\tbatch_size\nb 1\t1\n", ["line 2", "'b 1' can't be a name"]),
        ("variant\tbatch_size\trecovers\nb1\t1\tb9\n", ["'b9'", "no variant"]),
        (
            "variant\tbatch_size\trecovers\tresume\nb1\t1\t\t\nb2\t1\tb1\ttrue\nb3\t1\tb2\ttrue\n",
            ["'b3' resumes 'b2'", "resume the first"],
        ),
        ("# comment\n\nvariant\tbatch_size\n# more\nb1\tmany\n", ["line 5"]),
    ],
)
def test_a_fault_in_a_table_names_file_and_line(folder, table, said):
    (folder / "config/variants.tsv").write_text(table, encoding="utf-8")
    message = refusal(folder)
    for part in ["config/variants.tsv", *said]:
        assert part in message, message


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_line_feed_ends_a_row(folder, mark, end):
    text = OFFERS.replace("acme", f"ac{mark}me").replace("\n", end)
    (folder / "config/offers.tsv").write_bytes(text.encode())
    assert load_plan(configuration(), folder).offer("node").provider == f"ac{mark}me"


def test_a_cell_that_is_longer_than_any_is_refused(folder):
    (folder / "config/offers.tsv").write_text(OFFERS.replace("acme", "a" * 200_000))
    assert "offers.tsv, line 2: field larger than field limit" in refusal(folder)


@pytest.mark.parametrize("name", ["all", "none", "auto", "Auto"])
def test_an_offer_that_here_could_not_name_is_refused(folder, name):
    (folder / "config/offers.tsv").write_text(OFFERS.replace("node", name))
    said = refusal(folder)
    assert f"offers.tsv, line 2: offer: '{name}' can't be an offer's name" in said


@pytest.mark.parametrize("written", ["1e999999999", "-1e-999999999", "1e21"])
def test_a_number_beyond_all_sense_is_not_spelled_out(folder, written):
    said = refusal(folder, protocol={"tolerance": {"reference": "b1"}, "minimum": written})
    assert f"protocol.minimum is '{written}'" in said
    assert len(said) < 200


def with_pattern():
    """Return (model, option, its description) of each option whose text has a form."""
    models = [Campaign, Variant, Offer, Task, Expense, Exclusion]
    found = []
    for model in models:
        for name, field in model.model_fields.items():
            inner = [field.annotation, *get_args(field.annotation)]
            models += [
                one
                for one in inner
                if isinstance(one, type) and issubclass(one, Model) and one not in models
            ]
            # A commit has a message of its own.
            if name != "revision" and any(getattr(one, "pattern", None) for one in field.metadata):
                found.append((model, name, field.description))
    return found


@pytest.mark.parametrize(
    ("model", "name", "description"), with_pattern(), ids=lambda one: getattr(one, "__name__", one)
)
def test_a_text_of_another_form_is_told_what_the_option_means(model, name, description):
    with pytest.raises(AtparError) as refused:
        check(model, {name: "\u00a7 ?"}, "here")
    said = f"{name} is '\u00a7 ?': string should match pattern"
    lines = [line for line in str(refused.value).splitlines() if said in line]
    assert len(lines) == 1 and lines[0].endswith(f" ({' '.join(description.split())})")


def test_every_pattern_is_among_them():
    names = {name for _, name, _ in with_pattern()}
    assert {"hub", "currency", "campaign_cap", "shared", "storage_gb", "egress_gb"} < names
    assert {"further_terms_days", "gres", "partition", "node"} < names


def test_a_value_of_the_command_line_is_shown_with_quotes_that_the_shell_leaves(folder):
    arguments = ["campaign=010", "protocol={deadline: 22:30}", "here=[2026, b]"]
    config = with_overrides(configuration(), arguments)
    with pytest.raises(AtparError) as refused:
        load_plan(config, folder, arguments)
    for written in (
        """campaign is 8: """,
        """--config 'campaign="010"'""",
        """--config 'protocol={deadline: "22:30"}'""",
    ):
        assert written in str(refused.value)
    # What the shell makes of the arguments shown is read as text.
    shown = re.findall(r"--config ('.*')$", str(refused.value), flags=re.MULTILINE)
    again = with_overrides(configuration(), [word for one in shown for word in shlex.split(one)])
    assert (again["campaign"], again["protocol"]["deadline"]) == ("010", "22:30")
    # In a file it is as it was.
    assert refusal(folder, campaign=8).endswith("so put it in quotes")


def test_a_table_with_a_byte_order_mark_is_read(folder):
    (folder / "config/variants.tsv").write_bytes(b"\xef\xbb\xbf" + VARIANTS.encode())
    assert [variant.variant for variant in load_plan(configuration(), folder).variants] == [
        "b1",
        "b8",
    ]


def test_a_table_that_is_not_utf8_is_refused(folder):
    (folder / "config/variants.tsv").write_bytes(
        "variant\tbatch_size\nb\xe9\t1\n".encode("latin-1")
    )
    assert "not UTF-8" in refusal(folder)


def test_a_missing_table_is_named(folder):
    (folder / "config/offers.tsv").unlink()
    assert "config/offers.tsv: no such file" in refusal(folder)


def test_a_control_is_one_setting_under_two_names_whatever_its_series(folder):
    table = "variant\tseries\tbatch_size\nb1\tfirst\t1\nagain\tother\t1\n"
    (folder / "config/variants.tsv").write_text(table, encoding="utf-8")
    protocol = {"tolerance": {"reference": "b1"}, "control": ["b1", "again"]}
    plan = load_plan(configuration(protocol=protocol), folder)
    assert plan.campaign.protocol.control == ["b1", "again"]
