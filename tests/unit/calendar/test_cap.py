"""The campaign's own cap: before the first pass, and between passes."""

import json

import pytest

from atpar.calendar.cap import cap_reached, check_cap, refuse_over_cap
from atpar.config.load import load_plan
from atpar.errors import AtparError

TARIFF = """#tariff separator=comma decimal=point
provider,gpu,gpus_per_lot,billing,term_days,price,price_per,currency,step_s,priced_on,source
acme,a100,1,hourly,,10.00,lot,USD,60,2026-09-24,list
acme,b200,2,package,1,50.00,lot,USD,,2026-09-24,list
"""
CALENDAR = """task\tkind\tduration\tafter\trental
install\twork\t30min\t\tkept
measure\tpasses\t15min\tinstall\tkept
export\twork\t30min\tmeasure\tkept
"""
OFFERS = "offer\tprovider\tgpu\tbilling\na\tacme\ta100\thourly\nb\tacme\tb200\tpackage\n"


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a maker of configurations in an own working directory."""
    monkeypatch.chdir(tmp_path)
    files = {
        "tariff.csv": TARIFF,
        "calendar.tsv": CALENDAR,
        "offers.tsv": OFFERS,
        "variants.tsv": "variant\tbatch_size\nb1\t1\nb8\t8\n",
        "expenses.tsv": "expense\toffer\tunit_price\tgrounds\nfee\tb\t2.50\tinvoice\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def make(cap):
        names = ("calendar", "offers", "variants", "expenses")
        return {
            "campaign": "test",
            "corpus": {"files": ["corpus.csv"]},
            "model": {"path": "model"},
            "protocol": {"tolerance": {"reference": "b1"}, "repetitions": 2},
            "tables": {name: f"{name}.tsv" for name in names} | {"tariffs": ["tariff.csv"]},
            "money": {"campaign_cap": cap},
        }

    return make


def check(config):
    check_cap(load_plan(config))


def test_a_plan_within_its_cap_passes_and_without_a_cap_everything_does(config):
    # a: 30 min + 4 x 15 min + 30 min at 10.00 an hour; b: one day, and its fee.
    check(config("72.50"))
    check(config(None))


def test_disk_and_transfer_are_part_of_what_is_spent(config, tmp_path):
    head, *rest = TARIFF.splitlines()[1:]
    prices = [f"{head},egress_per_gb", f"{rest[0]},0.09", f"{rest[1]},"]
    text = "\n".join([TARIFF.splitlines()[0], *prices, ""])
    (tmp_path / "tariff.csv").write_text(text, encoding="utf-8")
    offers = OFFERS.replace("billing\n", "billing\tegress_gb\n").replace("hourly\n", "hourly\t50\n")
    (tmp_path / "offers.tsv").write_text(offers.replace("package\n", "package\t\n"), "utf-8")
    check(config("77.00"))  # 72.50 and 50 GB at 0.09
    with pytest.raises(AtparError, match=r"engages 77\.00 USD"):
        check(config("76.99"))


def state(folder, **cells):
    """Write the offers table with further columns for offer a."""
    (a, b), names = OFFERS.splitlines()[1:], OFFERS.splitlines()[0]
    lines = ["\t".join([names, *cells]), "\t".join([a, *cells.values()]), b + "\t" * len(cells)]
    (folder / "offers.tsv").write_text("\n".join([*lines, ""]), encoding="utf-8")


@pytest.mark.parametrize(
    ("cells", "item"),
    [({"storage_gb": "500"}, "storage"), ({"egress_gb": "50"}, "transfer out")],
)
def test_what_the_plan_needs_must_have_a_price_under_a_cap(config, tmp_path, cells, item):
    state(tmp_path, **cells)
    check(config(None))
    with pytest.raises(AtparError, match=f"these have no price: a: {item} .*tariff has no"):
        check(config("1000"))
    reason = cap_reached(config("1000"), tmp_path / "results", "a", "b1", 1)
    assert f"these have none: a: {item}" in reason
    assert cap_reached(config("1000"), tmp_path / "results", "b", "b1", 1) is None


def test_stopped_hours_must_have_a_price_under_a_cap(config, tmp_path):
    night = "night\twait\t10h\tinstall\tstopped\n"
    text = CALENDAR.replace("\tinstall\tkept", "\tnight\tkept")
    text = text.replace("measure\t", night + "measure\t", 1)
    (tmp_path / "calendar.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(AtparError, match="no price: a: rental: stopped"):
        check(config("1000"))


def test_an_expense_of_no_variant_is_refused(config, tmp_path):
    table = "expense\tvariant\tunit_price\tgrounds\nfee\tb88\t2.50\tinvoice\n"
    (tmp_path / "expenses.tsv").write_text(table, encoding="utf-8")
    with pytest.raises(AtparError, match=r"names the variant 'b88'.*did you mean 'b8'"):
        check(config("1000"))


def test_a_plan_above_its_cap_is_refused_before_any_pass(config):
    with pytest.raises(AtparError, match=r"engages 72\.50 USD, more than money.campaign_cap"):
        check(config("72.49"))


def test_a_window_that_nothing_covers_has_no_known_cost(config, tmp_path):
    (tmp_path / "calendar.tsv").write_text(CALENDAR.replace("15min", "8h"), encoding="utf-8")
    with pytest.raises(AtparError, match="nothing priced covers the calendar of b"):
        check(config("1000"))


@pytest.mark.parametrize("text", ["10,5", "-1", "1e3", "ten"])
def test_a_cap_is_a_plain_amount(config, text):
    with pytest.raises(AtparError, match="campaign_cap"):
        load_plan(config(text))


def journal(results, offer, *passes):
    folder = results / "journal"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{offer}.jsonl").open("a", encoding="utf-8") as stream:
        for variant, repetition, wall_s in passes:
            name = f"{offer}/{variant}/{repetition}/1"
            record = {
                "attempt_id": name,
                "offer": offer,
                "variant": variant,
                "repetition": repetition,
                "started_utc": "2026-12-07T09:00:00Z",
                "wall_time_s": wall_s,
            }
            for event in ("started", "finished"):
                line = {"event": event, "attempt_id": name, "record": record}
                stream.write(json.dumps(line) + "\n")


def test_between_passes_only_what_is_engaged_counts(config, tmp_path):
    results = tmp_path / "results"
    # Nothing attempted yet: 30 + 15 + 30 min at 10.00 an hour.
    assert cap_reached(config("12.50"), results, "a", "b1", 1) is None
    assert "12.50" in cap_reached(config("12.49"), results, "a", "b1", 1)
    # The first pass took an hour: 30 + 60 + 15 + 30 min, the next of another variant assumed.
    journal(results, "a", ("b1", 1, 3600))
    assert cap_reached(config("22.50"), results, "a", "b8", 1) is None
    assert "would engage 22.50 USD" in cap_reached(config("22.49"), results, "a", "b8", 1)
    # The same variant again is forecast at what it took.
    assert "30.00" in cap_reached(config("25"), results, "a", "b1", 2)
    # Another attempt at that pass takes as long again.
    assert "would engage 30.00" in cap_reached(config("25"), results, "a", "b1", 1)
    # The other offer engages its whole package with its first pass.
    assert "would engage 72.50 USD" in cap_reached(config("60"), results, "b", "b1", 1)
    assert cap_reached(config(None), results, "b", "b1", 1) is None
    with pytest.raises(AtparError, match=r"b/b1/1 isn't started: .*What is measured stays"):
        refuse_over_cap(config("60"), results, "b", "b1", "1")
