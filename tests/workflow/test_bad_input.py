"""Bad input ends in one clear message before any pass runs, without a traceback.

Each row breaks one thing in a fresh workspace and runs the real `snakemake`.
"""

import csv
from importlib.util import find_spec

import pytest


def corpus_rows(workspace):
    return list(csv.reader((workspace.folder / "corpus.csv").read_text().splitlines()))


def write_corpus(workspace, rows):
    with (workspace.folder / "corpus.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def missing_corpus(workspace):
    (workspace.folder / "corpus.csv").unlink()


def empty_corpus(workspace):
    write_corpus(workspace, corpus_rows(workspace)[:1])


def duplicate_id(workspace):
    rows = corpus_rows(workspace)
    rows[5][0] = rows[3][0]
    write_corpus(workspace, rows)


def missing_id(workspace):
    rows = corpus_rows(workspace)
    rows[5][0] = ""
    write_corpus(workspace, rows)


def unknown_column(workspace):
    workspace.configure(corpus={"columns": {"text": "txt"}})


def unknown_label(workspace):
    workspace.edit("corpus.csv", ",fruit\n", ",Fruit\n")


def variant_used_twice(workspace):
    workspace.edit("config/demo/variants.tsv", "b4\t", "b1\t")


def bucket_that_cannot_be_filled(workspace):
    buckets = [
        {"name": "short", "up_to_tokens": 6, "entries": 8},
        {"name": "medium", "up_to_tokens": None, "entries": 400},
    ]
    workspace.configure(corpus={"sample": {"buckets": buckets}})


def misspelt_option(workspace):
    workspace.configure(protocol={"repetitons": 3})


def missing_price(workspace):
    workspace.edit("config/demo/offers.tsv", "two-threads\tthis-machine", "two-threads\tnobody")


def missing_model(workspace):
    workspace.configure(model={"path": "modle"})


def unknown_metric(workspace):
    workspace.configure(protocol={"metric": "acuracy"})


def metric_of_ones_own_that_is_not_there(workspace):
    (workspace.folder / "my_metric.py").write_text("def score(*given):\n    return 1.0\n")
    workspace.configure(protocol={"metrics": ["my_metric:score", "my_metrc:score"]})


def broken_weights(workspace):
    path = workspace.folder / "model/model.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def time_without_quotes(workspace):
    path = workspace.folder / "small.yaml"
    path.write_text(path.read_text().replace("protocol:\n", "protocol:\n  deadline: 22:30\n"))


def deadline(text, zone="UTC"):
    return lambda workspace: workspace.configure(protocol={"deadline": text, "zone": zone})


def misspelt_zone(workspace):
    workspace.configure(protocol={"zone": "Europe/Pariss"})


def key_written_twice(workspace):
    path = workspace.folder / "small.yaml"
    path.write_text(path.read_text() + "protocol: {repetitions: 3}\n")


def octal_number(workspace):
    workspace.edit("small.yaml", "repetitions: 2", "repetitions: 010")


def braces_in_a_corpus(workspace):
    (workspace.folder / "corpus.csv").rename(workspace.folder / "corpus {x}.csv")
    workspace.configure(corpus={"files": ["corpus {x}.csv"]})


def braces_in_a_model(workspace):
    (workspace.folder / "model").rename(workspace.folder / "bert {best}")
    workspace.configure(model={"path": "bert {best}"})


def braces_in_a_table(workspace):
    offers = workspace.folder / "config/demo/offers.tsv"
    offers.rename(offers.with_name("offers {v1}.tsv"))
    workspace.configure(tables={"offers": "config/demo/offers {v1}.tsv"})


def missing_production(workspace):
    workspace.configure(production={"files": ["load.csv"]})


BROKEN = {
    "missing corpus": (missing_corpus, ["corpus.csv"]),
    "empty corpus": (empty_corpus, ["corpus.csv", "no"]),
    "duplicate id": (duplicate_id, ["corpus.csv", "e002", "row"]),
    "missing id": (missing_id, ["corpus.csv", "id", "row"]),
    "unknown column": (unknown_column, ["corpus.csv", "'txt'", "did you mean 'text'?"]),
    "unknown label": (unknown_label, ["'Fruit'", "'fruit'", "label_map"]),
    "variant used twice": (variant_used_twice, ["variants.tsv", "'b1' is used twice"]),
    "bucket not filled": (bucket_that_cannot_be_filled, ["medium", "400"]),
    "misspelt option": (misspelt_option, ["'protocol.repetitons'", "did you mean 'repetitions'?"]),
    "missing price": (missing_price, ["two-threads", "no price", "nobody"]),
    "missing model": (missing_model, ["'modle'", "no such folder"]),
    "unknown metric": (unknown_metric, ["'acuracy'", "did you mean 'accuracy'?"]),
    "no such own metric": (
        metric_of_ones_own_that_is_not_there,
        ["metric my_metrc:score", "No module named 'my_metrc'", "working directory"],
    ),
    "broken weights": (broken_weights, ["model.safetensors"]),
    "time without quotes": (time_without_quotes, ["deadline is 1350", "quotes"]),
    "no such month": (deadline("2026-13-01"), ["protocol.deadline: '2026-13-01' is no date"]),
    "no such time": (deadline("2026-12-04 6pm"), ["protocol.deadline", "2026-12-07T09:00"]),
    "skipped time": (
        deadline("2026-03-29T02:30", "Europe/Berlin"),
        ["protocol.deadline", "doesn't exist in Europe/Berlin"],
    ),
    "misspelt zone": (misspelt_zone, ["protocol.zone: 'Europe/Pariss' is no time zone"]),
    "key written twice": (key_written_twice, ["small.yaml, lines", "'protocol' is written twice"]),
    "octal number": (octal_number, ["small.yaml, line", "YAML reads 010 as 8"]),
    "braces in a corpus": (braces_in_a_corpus, ["corpus.files names 'corpus {x}.csv'", "rename"]),
    "braces in a model": (braces_in_a_model, ["model.path names 'bert {best}/", "rename"]),
    "braces in a table": (braces_in_a_table, ["tables.offers names", "offers {v1}.tsv", "rename"]),
    "missing production": (missing_production, ["load.csv: no such file; production.files names"]),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_one_message_before_any_pass(workspace, fault):
    break_it, said = BROKEN[fault]
    break_it(workspace)
    done = workspace.snakemake(expect=None)
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in output, output
    for part in said:
        assert part in output, output
    assert not (workspace.results / "journal").exists(), "a pass was run"


@pytest.mark.skipif(find_spec("bitsandbytes") is not None, reason="bitsandbytes is installed")
def test_a_variant_whose_package_is_absent_is_refused_before_any_pass(workspace):
    table = workspace.folder / "config/demo/variants.tsv"
    table.write_text(
        "variant\tseries\tprecision\tquantization\tbatch_size\n"
        "b1\tsizes\tfp32\t\t1\nb4\tint8\tbf16\tint8-bitsandbytes\t4\n"
    )
    done = workspace.snakemake("-n", expect=None)
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "variant 'b4' can't be run here: quantization int8-bitsandbytes needs" in output
    assert "pip install -r requirements-accelerate.txt" in output
    assert "Traceback" not in output, output


def test_a_moved_threshold_stops_a_measured_campaign(measured):
    measured.configure(protocol={"minimum": 0.1})
    done = measured.snakemake("-n", expect=None)
    output = done.stdout + done.stderr
    assert done.returncode != 0
    for part in ["-minimum: 0.0", "+minimum: 0.1", "new campaign"]:
        assert part in output, output


def test_the_same_from_the_command_line(workspace):
    done = workspace.snakemake("-n", "--config", "protocol={minimum: 'high'}", expect=None)
    assert done.returncode != 0
    assert "protocol.minimum is 'high'" in done.stdout + done.stderr


def test_a_name_on_the_command_line_is_shown_with_quotes_that_stay(workspace):
    done = workspace.snakemake("-n", "--config", "campaign=010", expect=1)
    assert """--config 'campaign="010"'""" in done.stdout + done.stderr
