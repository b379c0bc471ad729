"""Names become folders: the same rules wherever one is written, and none that collide."""

from pathlib import Path

import pytest

from atpar.config.base import LONGEST_NAME
from atpar.config.load import load_plan
from atpar.errors import AtparError

BAD = [
    "",
    " ",
    "a b",
    "a/b",
    "a\\b",
    "..",
    ".",
    ".hidden",
    "-b1",
    "_b1",
    "b1.",
    "b1:2",
    "b*",
    "b?",
    "b|c",
    "a<b",
    'b"1',
    "b\n",
    "b\x00",
    "b{n}",
    "é1",
    "b\u0301",
    "ｂ1",
    "б1",
    "b\u200b1",
    "~",
    "$HOME",
    "b;rm",
    "b$(id)",
    "CON",
    "nul",
    "Aux.txt",
    "com1",
    "LPT9.tar.gz",
    "prn.",
    "x" * (LONGEST_NAME + 1),
]
GOOD = ["b1", "B1", "rtx-4090", "a.b_c-d", "2024", "console", "com10", "null", "x" * LONGEST_NAME]
PLACES = ["campaign", "variant", "offer", "follows", "bucket", "series"]
CELLS = ("variant", "offer", "series")
"""Places in tables, where a name is one line without blanks around it."""


def plan(folder: Path, place: str = "", name: str = "", variants=("b1",), offers=("node",)):
    """Load a small configuration with `name` written at `place`."""
    variants = [*variants, name] if place == "variant" else variants
    offers = [*offers, name] if place == "offer" else offers
    series = name if place == "series" else "first"
    header = "variant\tseries\tbatch_size"
    rows = [f"{one}\t{series}\t{size}" for size, one in enumerate(variants, start=1)]
    (folder / "variants.tsv").write_text("\n".join([header, *rows]), encoding="utf-8")
    rows = [f"{one}\tacme\tcpu" for one in offers]
    (folder / "offers.tsv").write_text("\n".join(["offer\tprovider\tgpu", *rows]), encoding="utf-8")
    bucket = {"name": name if place == "bucket" else "all", "entries": 1}
    config = {
        "campaign": "trial",
        "corpus": {"files": ["corpus.csv"], "sample": {"buckets": [bucket]}},
        "model": {"path": "model"},
        "protocol": {"tolerance": {"reference": "b1"}},
        "tables": {"variants": "variants.tsv", "offers": "offers.tsv"},
    }
    if place in ("campaign", "follows"):
        config[place] = name
    return load_plan(config, folder)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (place, name)
        for place in PLACES
        for name in BAD
        if place not in CELLS or (name.strip() and "\n" not in name)
    ],
)
def test_a_name_that_is_no_safe_folder_is_refused(tmp_path, place, name):
    with pytest.raises(AtparError) as refused:
        plan(tmp_path, place, name)
    said = str(refused.value)
    assert repr(name) in said
    assert "can't be a name" in said
    if place in ("variant", "offer"):
        assert f"{place}s.tsv, line 3" in said


@pytest.mark.parametrize(
    ("place", "name"),
    # The tables hold the variant b1 already.
    [
        (place, name)
        for place in PLACES
        for name in GOOD
        if (place, name.lower()) != ("variant", "b1")
    ],
)
def test_a_plain_name_is_taken_as_it_is_written(tmp_path, place, name):
    loaded = plan(tmp_path, place, name)
    written = {
        "campaign": lambda: loaded.campaign.campaign,
        "variant": lambda: loaded.variants[-1].variant,
        "offer": lambda: loaded.offers[-1].offer,
        "follows": lambda: loaded.campaign.follows,
        "bucket": lambda: loaded.campaign.corpus.sample.buckets[0].name,
        "series": lambda: loaded.variants[0].series,
    }
    assert written[place]() == name


@pytest.mark.parametrize("other", ["b1", "B1"])
def test_names_that_differ_in_case_alone_collide(tmp_path, other):
    with pytest.raises(AtparError, match=r"variants\.tsv, line 3: variant '[Bb]1' is used twice"):
        plan(tmp_path, variants=("b1", other))
    with pytest.raises(AtparError, match=r"offers\.tsv, line 3: offer '[Nn]ode' is used twice"):
        plan(tmp_path, offers=("node", other.replace("b1", "node").replace("B1", "Node")))
