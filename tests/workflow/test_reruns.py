"""A stage reruns only if what it depends on changed: change -> rules, by real dry runs.

Each row changes one thing in a finished campaign and asks `snakemake -n` what it would run. The
small campaign has two offers with three variants and two repetitions, so 12 passes, 6 options.
"""

import json
import os

import pytest

DECIDE = {"decide": 1, "look_ahead": 1, "render_report": 1}
MONEY = {"keep_ledger": 1, **DECIDE}
CALENDAR = {"plan_calendar": 1, **MONEY}
SUMMARY = {"summarise_passes": 1, "separate_options": 1, **MONEY}
BALANCE = {"tabulate_attempts": 1, **SUMMARY, **CALENDAR}
QUALITY = {"check_predictions": 6, "evaluate_quality": 6, **BALANCE}
PASSES = {"measure_pass": 12, **QUALITY}
SPLIT = {"split_buckets": 1, "check_labels": 1, "seal_protocol": 1, **PASSES}


def touch_with_same_content(workspace):
    for name in [
        "corpus.csv",
        "model/model.safetensors",
        "model/tokenizer.json",
        "model/config.json",
    ]:
        os.utime(workspace.folder / name)


def nothing(workspace):
    del workspace


def other_weights(workspace):
    path = workspace.folder / "model/model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def other_tokenizer(workspace):
    workspace.edit("model/tokenizer.json", '"lowercase": true', '"lowercase": false')


def other_corpus(workspace):
    workspace.edit("corpus.csv", "e003,", "e903,")


def other_price(workspace):
    workspace.edit("resources/tariffs/illustrative.csv", ",3.00,", ",3.10,")


def other_task(workspace):
    workspace.edit("config/demo/calendar.tsv", "5min", "6min")


def other_expense(workspace):
    path = workspace.folder / "config/demo/expenses.tsv"
    row = "data-licence\ttwo-threads\t\t1\tonce\t5.00\tUSD\tlicence of the corpus\tinvoice"
    path.write_text(path.read_text() + row + "\n")


def one_more_repetition(workspace):
    workspace.configure(repetitions_added=1)


def one_more_variant(workspace):
    path = workspace.folder / "config/demo/variants.tsv"
    path.write_text(path.read_text() + "b2\tbatch-size\tfp32\t2\tcorpus\n")


def fewer_variants(workspace):
    path = workspace.folder / "config/demo/variants.tsv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("b4")))


def variants_in_another_order(workspace):
    path = workspace.folder / "config/demo/variants.tsv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-2], lines[-1], lines[-2]]) + "\n")


def one_variant_changed(workspace):
    workspace.edit(
        "config/demo/variants.tsv", "b4\tbatch-size\tfp32\t4\t", "b4\tbatch-size\tfp32\t3\t"
    )


def series_renamed(workspace):
    workspace.edit("config/demo/variants.tsv", "b4\tbatch-size\t", "b4\tsizes\t")


def other_inspection(workspace):
    workspace.edit("workflow/atpar/engine/environment.py", '"kernel":', '"kernel_release":')


def code(module, line="\n\nADDED = 1\n"):
    """Return a change that adds a statement to a module of the library."""

    def change(workspace):
        path = workspace.folder / "workflow/atpar" / module
        path.write_text(path.read_text() + line)

    return change


def comment(module):
    return code(module, "\n# A comment changes no result.\n")


CHANGES = {
    "nothing changed": (nothing, {}),
    "files touched, same content": (touch_with_same_content, {}),
    "weights": (other_weights, {"fingerprint_model": 1, "check_labels": 1, **PASSES}),
    "tokenizer": (
        other_tokenizer,
        {"prepare_tokenizer": 1, "fingerprint_model": 1, **SPLIT},
    ),
    "corpus file": (other_corpus, {"fingerprint_corpus": 1, **SPLIT}),
    "a price": (other_price, MONEY),
    "a calendar task": (other_task, CALENDAR),
    "an expense": (other_expense, MONEY),
    "one more repetition": (one_more_repetition, {"measure_pass": 6, **QUALITY}),
    "one more variant": (
        one_more_variant,
        {"measure_pass": 4, "check_predictions": 2, "evaluate_quality": 2, **BALANCE},
    ),
    "one variant fewer": (fewer_variants, BALANCE),
    "variants in another order": (variants_in_another_order, {**SUMMARY, "plan_calendar": 1}),
    "one variant's batch size": (
        one_variant_changed,
        {"measure_pass": 4, "check_predictions": 2, "evaluate_quality": 2, **BALANCE},
    ),
    "a series renamed": (series_renamed, {**BALANCE}),
    "code of the inspection, same findings": (code("engine/environment.py"), {}),
    "code of the inspection, other findings": (other_inspection, {"inspect_offer": 2, **PASSES}),
    "a comment in the engine": (comment("engine/worker.py"), {}),
    "code of the engine": (code("engine/worker.py"), PASSES),
    "code of the corpus room": (code("corpus/split.py"), SPLIT),
    "code of the quality room": (code("quality/verdict.py"), {"evaluate_quality": 6, **BALANCE}),
    "code of the money room": (code("money/ledger.py"), MONEY),
    "code of the decision": (code("decision/decide.py"), DECIDE),
    "code of the report": (code("report/page.py"), {"render_report": 1}),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_exactly_these_rules_rerun(measured, change):
    apply, expected = CHANGES[change]
    apply(measured)
    assert measured.to_run() == expected


@pytest.mark.slow
def test_a_resuming_variant_takes_its_passes_from_the_recovered_one(measured):
    path = measured.folder / "config/demo/variants.tsv"
    comment, header, *rows = path.read_text().splitlines()
    wider = [f"{header}\trecovers\tresume", *(f"{row}\t\t" for row in rows)]
    wider.append("rest\tbatch-size\tfp32\t2\tcorpus\tb8\ttrue")
    path.write_text("\n".join([comment, *wider]) + "\n")
    assert measured.to_run("passes") == {"measure_pass": 4}, "two offers, two repetitions"
    measured.snakemake("passes")
    for record in measured.results.glob("passes/*/rest/*.json"):
        made = json.loads(record.read_text())
        other = f"{made['offer']}/b8/{made['repetition']}"
        whole = json.loads((measured.results / f"passes/{other}.json").read_text())
        assert made["resumed"]["attempt_id"] == whole["attempt_id"]
        assert made["resumed"]["entries"] == whole["entries_completed"] == 12
        assert made["main_time_s"] >= whole["main_time_s"]
    assert measured.to_run("passes") == {}


@pytest.mark.slow
def test_copied_results_are_taken_as_they_are(measured):
    """A clone with the results carried in, file times lost, measures nothing again."""
    for path in measured.folder.rglob("*"):
        if path.is_file():
            os.utime(path)
    assert "measure_pass" not in measured.to_run()
