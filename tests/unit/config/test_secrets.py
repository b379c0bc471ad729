"""A credential that is written into the configuration is refused, and its value isn't repeated."""

import pytest

from atpar.config.campaign import Campaign
from atpar.config.expenses import Expense
from atpar.config.load import check, read_table
from atpar.config.model import ModelSource
from atpar.config.secrets import holds_secret
from atpar.errors import AtparError

SECRET = "PLANTEDsecret0123456789abcdefghijk"


@pytest.mark.parametrize(
    "written",
    [
        f"https://user:{SECRET}@hub.example/organisation/name",
        f"https://{SECRET}@hub.example/organisation/name",
        f"https://hub.example/name?token={SECRET}",
        f"https://hub.example/name?a=1&access_token={SECRET}",
        f"https://bucket.example/file?X-Amz-Signature={SECRET}",
        f"https://bucket.example/file?X-Goog-Signature={SECRET}",
        f"https://hub.example/name?api_key={SECRET}",
        f"hf_{SECRET}",
        "organisation/name AKIAABCDEFGHIJKLMNOP",
    ],
)
@pytest.mark.parametrize("place", ["model.path", "model.hub", "shared", "corpus.files", "expense"])
def test_it_is_refused_wherever_it_stands(tmp_path, place, written):
    config = {
        "campaign": "trial",
        "corpus": {"files": ["corpus.csv"]},
        "model": {"path": "model"},
        "protocol": {"tolerance": {"reference": "b1"}},
    }
    table = tmp_path / "expenses.tsv"
    if place == "corpus.files":
        config["corpus"]["files"] = ["corpus.csv", written]
    elif place == "shared":
        config["shared"] = written
    elif place != "expense":
        config["model"] = {place.partition(".")[2]: written}
    table.write_text(f"expense\tsource\nnetwork\t{written}\n")
    with pytest.raises(AtparError, match="holds a password, key or token") as refused:
        if place == "expense":
            read_table(table, Expense, "expense")
        else:
            check(Campaign, config, "configuration")
    for secret in (SECRET, "AKIAABCDEFGHIJKLMNOP"):
        assert secret not in str(refused.value)


def test_it_is_refused_inside_a_mapping():
    assert holds_secret({"yes": f"hf_{SECRET}"})
    assert holds_secret([{f"hf_{SECRET}": "no"}])


@pytest.mark.parametrize(
    "written",
    [
        "data/hf_sentimentcorpus2024.csv",
        "asiapacificnortheast1",
        "https://prices.example/cards?key=h100",
        "ASIAN",
    ],
)
def test_what_only_looks_a_little_like_it_is_taken(written):
    assert not holds_secret(written)


@pytest.mark.parametrize(
    "hub", ["organisation/name", "name", "Organisation-1/name_2.5", "o/hf_model-large"]
)
def test_a_plain_hub_id_is_taken(hub):
    assert check(ModelSource, {"hub": hub, "revision": "a" * 40}, "model").hub == hub


@pytest.mark.parametrize("hub", ["https://hub.example/o/n", "../o", "o/n/m", "/o", "o//n", "o n"])
def test_what_is_no_hub_id_is_refused(hub):
    with pytest.raises(AtparError, match="hub is "):
        check(ModelSource, {"hub": hub, "revision": "a" * 40}, "model")
