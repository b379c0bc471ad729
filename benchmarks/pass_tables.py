"""The tables of the pass benchmark, from the records and times of one run."""

import json
import platform
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pass_bench import Bench
from pass_loops import batches_of

from atpar.canonical import read_json
from atpar.engine.clocks import START_UP
from atpar.engine.job import model_folder
from atpar.journal.attempts import read_attempts

OF_CAMPAIGN = 15


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def heading(bench: Bench, rounds: int) -> str:
    """Return what was run on what, and whether others disturbed it."""
    environment = read_json(bench.inputs.environment)
    versions = environment["software"]
    records = [one for records in bench.records.values() for one in records]
    others = max((one["conditions"]["cpus_used_by_others"] or 0 for one in records), default=0)
    return (
        f"{bench.entries} texts, {bench.threads} threads of {environment['cpu']['name']}, "
        f"Python {platform.python_version()}, torch {versions['torch']}, transformers "
        f"{versions['transformers']}; medians of {rounds} rounds in turn, in seconds. Other "
        f"processes kept at most {others:.2f} CPUs busy during a pass: above 0.1 the figures are "
        "disturbed."
    )


def loops(bench: Bench, chosen: dict) -> str:
    """Return a pass beside the bare loop, the pipeline and the sorted loop."""
    columns = ["variant", "pass", "bare loop", "pass / bare (each round)"]
    columns += ["pipeline", "pipeline / pass", "sorted loop", "sorted / pass"]
    rows = []
    for name, (_, kinds) in chosen.items():
        spans = [one["main_time_s"] for one in bench.records[name]]
        row = [name, f"{np.median(spans):.2f}"]
        for kind in ("bare", "pipeline", "sorted"):
            if kind not in kinds:
                row += ["", ""]
                continue
            found = [one["loops_s"][kind] for one in bench.records[name]]
            ratios = [a / b for a, b in zip(spans, found, strict=True)]
            if kind == "bare":
                each = " ".join(f"{ratio:.3f}" for ratio in ratios)
                ratio = f"**{np.median(ratios):.3f}** ({each})"
            else:
                ratio = f"**{np.median([1 / ratio for ratio in ratios]):.2f}**"
            row += [f"{np.median(found):.2f}", ratio]
        rows.append(row)
    return "### Beside other loops\n\n" + table(columns, rows)


def variants(bench: Bench, reference: str, run: Any) -> str:
    """Return every variant beside the reference and the pipeline, with quality and roofline."""
    columns = ["variant", "pass", f"times as fast as {reference}", "as pipeline, batch 8"]
    columns += ["accuracy", "labels changed", "admissible", "of the peak", "real tokens alone"]
    rows = []
    for name in run.options:
        if not bench.records[name]:
            continue
        span = bench.median(name)
        rows.append(
            [
                name,
                f"{span:.2f}",
                f"{bench.median(reference) / span:.2f}",
                f"{run.pipeline() / span:.2f}",
                f"{bench.accuracy(name):.3f}",
                str(bench.changed(name, reference)),
                "yes" if is_admissible(bench, name, reference) else "no",
                *_shares(bench, run.options[name], run.peaks(name), span),
            ]
        )
    best = quickest(bench, reference)
    told = [
        f"The quickest admissible variant is **{best}**: "
        f"{bench.median(reference) / bench.median(best):.2f} times as fast as {reference}, "
        f"{run.pipeline() / bench.median(best):.2f} times as fast as the pipeline with batch "
        "size 8.",
        "*Of the peak*: the time that the model's matrix products would take at the rate measured "
        "for products of the same shapes and precision in this run, divided by the main time; "
        "*real tokens alone*: the same for the products that padding doesn't add.",
    ]
    told += [f"Not run: {name}: {reason}." for name, reason in run.skipped.items()]
    told += sorted(
        {
            f"No peak in {one['precision']}/{one['quantization']}: {found['reason']}."
            for one, found in run.measured_peaks()
            if "reason" in found
        }
    )
    return "### Variants\n\n" + table(columns, rows) + "\n\n" + "\n\n".join(told)


def is_admissible(bench: Bench, name: str, reference: str) -> bool:
    """Tell whether a variant meets the sealed minimum and keeps the accepted drop."""
    minimum, drop = bench.tolerance()
    accuracy = bench.accuracy(name)
    return accuracy >= minimum and accuracy >= bench.accuracy(reference) - drop


def quickest(bench: Bench, reference: str, compiled: bool = True) -> str:
    """Return the quickest admissible variant; the reference where no other is.

    With `compiled` false only of those that compile nothing.
    """
    names = [
        name
        for name, records in bench.records.items()
        if records
        and not name.startswith("growth")
        and is_admissible(bench, name, reference)
        and (compiled or records[0]["phases_s"]["compile"] is None)
    ]
    return min(names, key=bench.median, default=reference)


def _shares(bench: Bench, options: dict, peaks: dict, span: float) -> list[str]:
    """Return the shares of the peak: of all computed tokens, and of the real ones."""
    if "reason" in peaks:
        return ["", ""]
    request = {"inputs": bench.inputs.__dict__, "variant": bench.settings(options)["variant"]}
    batches = batches_of(request)
    config = json.loads(
        (model_folder(read_json(bench.inputs.fingerprint)) / "config.json").read_text()
    )
    # Of each token: squares of width make up attention's two products.
    real = [length for batch in batches for length in _lengths(batch)]
    computed = real
    if batches[0].lengths is None:
        computed = [batch.ids.shape[1] for batch in batches for _ in batch.rows]
    return [f"{_ideal(config, peaks, lengths) / span:.0%}" for lengths in (computed, real)]


def _lengths(batch: Any) -> list[int]:
    if batch.lengths is not None:
        return batch.lengths.tolist()
    if batch.mask is None:
        return [batch.ids.shape[1]] * len(batch.rows)
    return batch.mask.sum(axis=1).tolist()


def _ideal(config: dict, peaks: dict, lengths: list[int]) -> float:
    """Return the seconds of the encoder's products over entries of these lengths, at their peak.

    A layer has four products of hidden x hidden, one each of hidden x intermediate and back, and
    attention's two, of 2 x length^2 x hidden FLOP each, which are given the best of the peaks.
    """
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    rates = {(inputs, outputs): rate for inputs, outputs, rate in peaks["peaks"]}
    tokens, squares = sum(lengths), sum(length**2 for length in lengths)
    linear = 4 * 2 * hidden * hidden / rates[hidden, hidden]
    linear += 2 * hidden * wide * (1 / rates[hidden, wide] + 1 / rates[wide, hidden])
    attention = 2 * 2 * hidden / max(rates.values())
    return config["num_hidden_layers"] * (tokens * linear + squares * attention)


def overhead(bench: Bench, floors: dict[str, list[float]]) -> str:
    """Return what a pass takes around its span, phase by phase, and the floor."""
    columns = ["variant", *START_UP, "rest", "around the span"]
    rows = []
    for name, records in bench.records.items():
        if not records or name.startswith("growth"):
            continue
        phases = [[one["phases_s"][phase] or 0.0 for phase in START_UP] for one in records]
        around = [one["wall_time_s"] - one["main_time_s"] for one in records]
        rest = [total - sum(parts) for total, parts in zip(around, phases, strict=True)]
        middle = [*np.median(phases, axis=0), np.median(rest), np.median(around)]
        cells = [f"{seconds:.2f}" for seconds in middle]
        if records[0]["phases_s"]["compile"] is None:
            cells[START_UP.index("compile")] = ""
        rows.append([name, *cells])
    floor = [[name, f"{np.median(seconds):.2f}"] for name, seconds in floors.items()]
    return (
        "### Around the span\n\n*Start* is the interpreter's, the device's lock, and the check of "
        "the weights' digests; *rest* is the supervisor, the look at the machine, and the writing "
        "of predictions and records.\n\n"
        + table(columns, rows)
        + "\n\nThe floor, in a process of its own:\n\n"
        + table(["`python -c`", "seconds"], floor)
    )


def campaign(folder: Path) -> str:
    """Return the wall time of a campaign's passes beside the sum of their spans."""
    title = "### A campaign of 15 passes\n\n"
    attempts = [
        one for path in sorted(folder.glob("journal/*.jsonl")) for one in read_attempts(path)
    ]
    attempts = [one for one in attempts if one["status"] == "ok"][:OF_CAMPAIGN]
    if len(attempts) < OF_CAMPAIGN or len({one["session_id"] for one in attempts}) > 1:
        return f"{title}Not told: {folder.name} has no {OF_CAMPAIGN} passes of one run."
    begin, end = attempts[0]["started_utc"], attempts[-1]["finished_utc"]
    wall = _seconds(begin, end)
    spans = sum(one["main_time_s"] for one in attempts)
    around = sum(one["wall_time_s"] for one in attempts) - spans
    between = [_seconds(a["finished_utc"], b["started_utc"]) for a, b in pairwise(attempts)]
    return (
        f"{title}The first {OF_CAMPAIGN} passes in the journal of {folder.name}: {wall:.1f} s from "
        f"the first start to the last end, {spans:.1f} s of it measured spans ({wall / spans:.2f} "
        f"times their sum). {around:.1f} s were spent around the spans, {sum(between):.1f} s "
        f"between passes (median {np.median(between):.2f} s: Snakemake and the start of its job)."
    )


def _seconds(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def growth(rows: list[dict]) -> str:
    """Return time and memory over growing corpora."""
    first = rows[0]["seconds"] / rows[0]["entries"]
    columns = [
        "entries",
        "passes",
        "main time",
        "entries/s",
        "tokens/s",
        "time per entry, first = 1",
    ]
    columns += ["around the span", "peak at start-up, MB", "peak within the span, MB"]
    lines = [
        [
            f"{row['entries']:,}",
            str(row["passes"]),
            f"{row['seconds']:.2f}",
            f"{row['entries'] / row['seconds']:,.0f}",
            f"{row['tokens'] / row['seconds']:,.0f}",
            f"{row['seconds'] / row['entries'] / first:.2f}",
            f"{row['around']:.1f}",
            f"{row['start_up'] / 1e6:.0f}",
            "" if row["measured"] is None else f"{row['measured'] / 1e6:.0f}",
        ]
        for row in rows
    ]
    return (
        f"### Growth\n\n{rows[0]['variant']}, grouped within windows of 4 096 entries; the texts "
        "are the shortest third of the campaign's, repeated.\n\n" + table(columns, lines)
    )
