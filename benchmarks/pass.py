"""How fast is a pass: beside a bare loop and other loops, in its best variant, and around its span?

    python benchmarks/pass.py --campaign results/worked-example [--rounds 5] [--sections ...]

Run it after a campaign, on a machine that does nothing else (50 minutes on two cores; `--quick`
runs every section on few entries, for a look at the script itself). Everything is timed in turn,
round after round, so that drift meets all alike, and a pass takes turns with the loops beside it
within its span (see pass_turns.py); shown are medians of the rounds. The sections:

- loops: the main time of a whole pass, in a process of its own, from reading the corpus to
  predictions on the host, beside loops over the same texts (see pass_loops.py);
- variants: other precisions, backends and batches beside fp32 with batch size 1 and the pipeline,
  with their accuracy, and their share of the peak of matrix products measured in the same run;
- overhead: wall time of the passes less their span, phase by phase, beside the floor of importing
  torch and transformers and loading the model;
- campaign: the wall time of the first 15 passes in the campaign's own journal beside their spans;
- growth: the quickest admissible variant that compiles nothing, over 1 000, 10 000 and 100 000
  short texts.

The tables are printed and, with `--write`, put into benchmarks/README.md.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path

import numpy as np
import pass_tables
from marks import write_section
from pass_bench import Bench, Skipped
from pass_loops import Loop

from atpar.engine.cpus import usable_cpus
from atpar.engine.job import worker_environment

SECTIONS = ("loops", "variants", "overhead", "campaign", "growth")
LOOPS = {
    "fp32, batch 1": ({"batch_size": 1}, ("bare", "pipeline")),
    "fp32, batch 4": ({"batch_size": 4}, ("bare", "pipeline")),
    "fp32, batch 8": ({"batch_size": 8}, ("bare", "pipeline")),
    "fp32, batch 1 by length": ({"batch_size": 1, "order": "length"}, ("sorted",)),
    "fp32, batch 4 by length": ({"batch_size": 4, "order": "length"}, ("sorted",)),
    "fp32, batch 8 by length": ({"batch_size": 8, "order": "length"}, ("bare", "sorted")),
}
GROUPED = {"token_budget": 2048, "order": "length"}
BF16 = {"precision": "bf16"}
VARIANTS = {
    "fp32, 2 048 tokens by length": GROUPED,
    "fp32, 2 048 tokens packed": {**GROUPED, "padding": "none"},
    "onnxruntime fp32, 2 048 tokens by length": {**GROUPED, "backend": "onnxruntime"},
    "int8 dynamic, batch 8 by length": {
        "batch_size": 8,
        "order": "length",
        "quantization": "int8-dynamic",
    },
    "int8 weights, 2 048 tokens by length": {**GROUPED, "quantization": "int8-weight-only"},
    "bf16, batch 8 by length": {"batch_size": 8, "order": "length", **BF16},
    "bf16, 2 048 tokens by length": {**GROUPED, **BF16},
    "bf16, 2 048 tokens packed": {**GROUPED, **BF16, "padding": "none"},
    "bf16, 2 048 tokens by length, compiled": {
        **GROUPED,
        **BF16,
        "compile": "default",
        "shapes": "dynamic",
    },
}
COMPILED_ROUNDS = 1
"""A compiled pass takes a minute and more around its span: it's measured once."""
LIKELY_BEST = "bf16, 2 048 tokens packed"
"""What grows where no variants are measured to choose from."""
REFERENCE, PIPELINE = "fp32, batch 1", ("fp32, batch 8", "pipeline")
GROWTH = (1_000, 10_000, 100_000)
FLOORS = {
    "`import torch, transformers`": "import torch, transformers",
    "and loading through the auto classes": (
        "import torch, transformers\n"
        "transformers.AutoTokenizer.from_pretrained({folder!r})\n"
        "transformers.AutoModelForSequenceClassification.from_pretrained({folder!r})"
    ),
}


def main() -> None:
    """Measure the chosen sections and print their tables."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(
            arguments.campaign.resolve(), Path(folder), arguments.entries, arguments.threads
        )
        run = Run(bench, arguments)
        run.rounds()
        tables = [pass_tables.heading(bench, arguments.rounds)]
        if "loops" in arguments.sections:
            tables.append(pass_tables.loops(bench, LOOPS))
        if "variants" in arguments.sections:
            tables.append(pass_tables.variants(bench, REFERENCE, run))
        if "overhead" in arguments.sections:
            tables.append(pass_tables.overhead(bench, run.floors))
        if "campaign" in arguments.sections:
            tables.append(pass_tables.campaign(bench.campaign))
        if "growth" in arguments.sections:
            tables.append(pass_tables.growth(run.growth()))
    text = "\n\n".join(tables)
    print(text)
    if arguments.write:
        write_section("pass.py", "How fast a pass is", text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--campaign", type=Path, required=True, help="results/<campaign>")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=usable_cpus())
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--quick", action="store_true", help="few entries, one round: no figures")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.entries = 1, min(arguments.entries, 48)
    return arguments


class Run:
    """All that is timed, by name."""

    def __init__(self, bench: Bench, arguments: argparse.Namespace) -> None:
        self.bench, self.arguments = bench, arguments
        self.floors: dict[str, list[float]] = {}
        self.skipped: dict[str, str] = {}
        self._peaks: dict[tuple[str, ...], dict] = {}
        self.options = self._chosen()

    def _chosen(self) -> dict[str, dict]:
        """Return the options of every variant that the chosen sections need."""
        sections = self.arguments.sections
        chosen = {name: options for name, (options, _) in LOOPS.items()}
        if "loops" not in sections:
            chosen = {REFERENCE: chosen[REFERENCE], PIPELINE[0]: chosen[PIPELINE[0]]}
        if "variants" in sections:
            chosen |= VARIANTS
        elif "growth" in sections:
            chosen[LIKELY_BEST] = VARIANTS[LIKELY_BEST]
        return chosen if set(sections) - {"campaign"} else {}

    def rounds(self) -> None:
        """Time everything in turn, round after round."""
        sections = set(self.arguments.sections)
        loops = {name: kinds for name, (_, kinds) in LOOPS.items() if "loops" in sections}
        if "variants" in sections and not loops:
            loops = {PIPELINE[0]: PIPELINE[1:]}
        for number in range(self.arguments.rounds if self.options else 0):
            self._round(number, loops)

    def _round(self, number: int, loops: dict[str, tuple[str, ...]]) -> None:
        for name, options in self.options.items():
            compiled = options.get("compile") is not None
            if name in self.skipped or (compiled and self._left_out(number)):
                continue
            print(f"round {number + 1}: {name}", file=sys.stderr, flush=True)
            with ExitStack() as open_loops:
                beside = [
                    open_loops.enter_context(self._loop(kind, options))
                    for kind in loops.get(name, ())
                ]
                try:
                    self.bench.measure(name, options, loops=beside)
                except Skipped as reason:
                    self.skipped[name] = str(reason)
        if "overhead" in self.arguments.sections:
            self._time_floors()

    def _loop(self, kind: str, options: dict) -> AbstractContextManager[Loop]:
        """Return a loop in a process of its own, as a pass has one."""
        settings = self.bench.settings(options)
        return closing(Loop(kind, self.bench.inputs, settings, self.arguments.threads))

    def _left_out(self, number: int) -> bool:
        if self.arguments.quick:
            self.skipped.setdefault(
                "bf16, 2 048 tokens by length, compiled", "compiling takes a minute (--quick)"
            )
        return self.arguments.quick or number >= COMPILED_ROUNDS

    def _time_floors(self) -> None:
        from atpar.canonical import read_json
        from atpar.engine.job import model_folder

        folder = str(model_folder(read_json(self.bench.inputs.fingerprint)))
        variables = worker_environment(self.arguments.threads, deterministic=True)
        for name, code in FLOORS.items():
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code.format(folder=folder)],
                env={"PATH": "", **variables},
                check=True,
                capture_output=True,
            )
            self.floors.setdefault(name, []).append(time.perf_counter() - start)

    def peaks(self, name: str) -> dict:
        """Return the measured peaks of matrix products in the variant's precision."""
        settings = self.bench.settings(self.options[name])
        key = tuple(settings["variant"][one] for one in ("precision", "quantization"))
        if key not in self._peaks:
            with self._loop("gemm", self.options[name]) as loop:
                self._peaks[key] = loop.run()
        return self._peaks[key]

    def measured_peaks(self) -> list[tuple[dict, dict]]:
        """Return what was asked of each measurement of peaks, and what it gave."""
        names = ("precision", "quantization")
        return [(dict(zip(names, key, strict=True)), found) for key, found in self._peaks.items()]

    def pipeline(self) -> float:
        """Return the median seconds of the pipeline with batch size 8."""
        name, kind = PIPELINE
        return float(np.median([one["loops_s"][kind] for one in self.bench.records[name]]))

    def growth(self) -> list[dict]:
        """Measure the quickest admissible variant that compiles nothing over growing corpora.

        A compiled one spends minutes around each span. Entries are grouped by length within windows
        of 4 096, so that the corpus streams through.
        """
        best = pass_tables.quickest(self.bench, REFERENCE, compiled=False)
        options = {**self.options[best], "order": "length", "window": 4096}
        sizes = (200, 400, 800) if self.arguments.quick else GROWTH
        for size in sizes:
            inputs = self.bench.corpus_of(size)
            for _ in range(1 if size == max(sizes) else min(3, self.arguments.rounds)):
                print(f"growth: {size} entries", file=sys.stderr, flush=True)
                try:
                    self.bench.measure(f"growth {size}", options, inputs)
                except Skipped as reason:
                    print(f"growth ends below {size} entries: {reason}", file=sys.stderr)
        return [
            {
                "variant": best,
                "entries": size,
                "passes": len(records),
                "seconds": float(np.median([one["main_time_s"] for one in records])),
                "around": float(
                    np.median([one["wall_time_s"] - one["main_time_s"] for one in records])
                ),
                "tokens": records[-1]["tokens_real"],
                "start_up": records[-1]["memory"]["peak_host_rss_start_up_bytes"],
                "measured": records[-1]["memory"]["peak_host_rss_measured_bytes"],
            }
            for size in sizes
            if (records := self.bench.records[f"growth {size}"])
        ]


if __name__ == "__main__":
    main()
