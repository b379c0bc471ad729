"""Make the trials as real passes over tuning entries, and write what they propose.

Trials use the supervisor and worker of measured passes, with a journal of their own under `tune/`,
so that an attempt out of memory is kept here too and never shows in the campaign's balance.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from atpar.canonical import digest, read_json, whole_file, write_json, write_text
from atpar.engine.job import Inputs
from atpar.engine.supervisor import Pass, measure_pass
from atpar.errors import AtparError
from atpar.tune.search import Trial, proposed, search

PEAKS = (
    "peak_device_reserved_measured_bytes",
    "peak_host_rss_measured_bytes",
)
"""Memory counters of a record, the one that decides whether a setting fits first."""


@dataclass(frozen=True)
class Tuning:
    """What is searched, and with what."""

    settings: Mapping[str, Any]
    """`variant`, `offer`, `protocol`, `campaign` as for a measured pass; `tune` besides."""
    inputs: Inputs
    """As for a measured pass; corpus, its fingerprint and the seal are made here."""
    tuning: Path
    """corpus/tuning.parquet; no other table of the corpus is opened."""
    folder: Path
    """results/<campaign>/tune/<offer>."""
    lock_folder: str | None = None


def tune_option(one: Tuning, trials: Path, proposal: Path) -> list[Trial]:
    """Search the option, write `trials` (CSV) and `proposal` (rows for the variants table)."""
    rule = one.settings["tune"]
    inputs = _inputs(one, rule["entries"])
    smallest = rule["smallest"]
    if rule["option"] == "token_budget":
        smallest = max(smallest, _longest(one))
    made = search(
        lambda value: _trial(one, inputs, value), smallest, max(smallest, rule["largest"])
    )
    write_text(trials, _csv(made))
    chosen = proposed(made)
    if not chosen:
        raise AtparError(
            f"no {rule['option']} runs on {one.settings['offer']['offer']}: already "
            f"{made[0].value} ended as {made[0].status} ({made[0].reason}); see {trials}"
        )
    write_text(proposal, _rows(one.settings["variant"], rule["option"], chosen))
    return made


def _trial(one: Tuning, inputs: Inputs, value: int) -> Trial:
    option = one.settings["tune"]["option"]
    name = f"{one.settings['variant']['variant']}-{option.replace('_', '-')}-{value}"
    sizes = {"batch_size": None, "token_budget": None, option: value}
    variant = {**one.settings["variant"], **sizes, "variant": name}
    record = measure_pass(
        Pass(
            settings={**one.settings, "variant": variant},
            inputs=inputs,
            repetition=1,
            place={"rank": 0, "round": 1, "position": 0},
            results=one.folder,
            record=one.folder / "records" / f"{name}.json",
            predictions=one.folder / "predictions" / f"{name}.parquet",
            lock_folder=one.lock_folder,
        )
    )
    return trial_of(value, record)


def trial_of(value: int, record: Mapping[str, Any]) -> Trial:
    """Return what a record says of the value that was tried."""
    trial = Trial(value=value, status=record["status"], reason=record["reason"])
    if not trial.fits:
        return trial
    counter = next((name for name in PEAKS if record["memory"].get(name) is not None), None)
    return replace(
        trial,
        main_time_s=round(record["main_time_s"], 6),
        entries_per_s=round(record["entries_completed"] / record["main_time_s"], 3),
        padding_ratio=round(record["tokens_padded"] / record["tokens_real"], 4),
        peak_bytes=record["memory"][counter] if counter else None,
        peak_counter=counter,
    )


def _inputs(one: Tuning, entries: int) -> Inputs:
    """Write the trial corpus and what stands for fingerprint and seal; return the inputs."""
    corpus = one.folder / "corpus.parquet"
    table = pq.read_table(one.tuning)
    if table.num_rows == 0:
        raise AtparError(
            f"{one.tuning}: no tuning entries. Mark some in the split column, or draw a smaller "
            "evaluation corpus (corpus.sample)"
        )
    rows = np.unique(np.linspace(0, table.num_rows - 1, min(entries, table.num_rows)).astype(int))
    with whole_file(corpus) as temporary:
        pq.write_table(table.take(rows), temporary)
    drawn = digest(table["id"].take(rows).to_pylist())
    fingerprint, seal = one.folder / "fingerprint.json", one.folder / "seal.json"
    write_json(fingerprint, {"evaluation_digest": drawn, "corpus_digest": drawn})
    write_json(seal, {"digest": "tuning isn't sealed"})
    return replace(
        one.inputs, corpus=str(corpus), corpus_fingerprint=str(fingerprint), seal=str(seal)
    )


def _longest(one: Tuning) -> int:
    """Return the longest input in tokens: a budget below it would hold no entry."""
    settings = read_json(Path(one.inputs.tokenizer_settings))
    limits = [
        one.settings["variant"]["max_length"],
        read_json(Path(one.inputs.fingerprint))["usable_length"],
        settings["model_max_length"],
    ]
    return min(limit for limit in limits if limit)


def _csv(trials: list[Trial]) -> str:
    stream = io.StringIO()
    names = [field.name for field in fields(Trial)]
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(trial) for trial in trials)
    return stream.getvalue()


def _rows(variant: Mapping[str, Any], option: str, chosen: list[Trial]) -> str:
    """Return the proposed variants as rows for the variants table."""
    other = "token_budget" if option == "batch_size" else "batch_size"
    kept = {
        name: value
        for name, value in variant.items()
        if value is not None and name not in ("variant", "series", option, other, "recovers")
    }
    header = ["variant", "series", option, *kept]
    lines = ["# Proposed by tuning, on tuning entries alone; copy rows into the variants table."]
    lines.append("\t".join(header))
    for trial in chosen:
        name = f"{variant['variant']}-{option.replace('_', '-')}-{trial.value}"
        cells = [name, "tuned", trial.value, *kept.values()]
        lines.append("\t".join(map(str, cells)))
    return "\n".join(lines) + "\n"
