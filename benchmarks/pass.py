"""How fast is a pass beside a bare forward loop and beside transformers' pipeline?

    python benchmarks/pass.py --campaign results/worked-example [--rounds 5] [--entries 1000]

Run it after the campaign's corpus and model are there (`snakemake seal`). For each variant the
three are timed in turn, round after round, so that drift meets all alike; shown are medians:

- pass: main time of a whole pass in a process of its own, from reading the corpus to predictions
  on the host, as the workflow measures it;
- bare: the same model over the pass's own batches, tokenized and padded beforehand, and nothing
  else: the floor;
- pipeline: `transformers.pipeline("text-classification")` over the texts, same batch size, threads
  and precision, in corpus order.

Bare loop and pipeline each run in a process that stays warm between rounds. The table is printed
and, with `--write`, put into benchmarks/README.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from atpar.config.offers import Offer
from atpar.config.variants import Variant
from atpar.engine.cpus import usable_cpus
from atpar.engine.environment import inspect_offer
from atpar.engine.job import Inputs, worker_environment
from atpar.engine.supervisor import Pass, measure_pass

VARIANTS = {
    "fp32, batch 1": {"batch_size": 1},
    "fp32, batch 4": {"batch_size": 4},
    "fp32, batch 8": {"batch_size": 8},
    "fp32, batch 8 by length": {"batch_size": 8, "order": "length"},
    "bf16, batch 8 by length": {"batch_size": 8, "order": "length", "precision": "bf16"},
    "bf16, 2 048 tokens by length": {
        "token_budget": 2048,
        "order": "length",
        "precision": "bf16",
    },
}
PROTOCOL = {
    "warm_up": {"entries": 32, "passes": 1},
    "seed": 0,
    "deterministic": True,
    "pass_timeout_s": 3600.0,
    "busy_device": "note",
}
MARK = "<!-- pass.py -->"


def main() -> None:
    """Time all variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--campaign", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=usable_cpus())
    parser.add_argument("--only", nargs="*", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.campaign.resolve(), Path(folder), arguments)
        rows = [bench.row(name, VARIANTS[name]) for name in arguments.only]
    table = _table(rows, arguments)
    print(table)
    if arguments.write:
        _write(Path(__file__).with_name("README.md"), table)


class Bench:
    """A campaign's files, a short corpus, and the three ways of running a variant."""

    def __init__(self, campaign: Path, folder: Path, arguments: argparse.Namespace) -> None:
        import pyarrow.parquet as pq

        self.arguments, self.folder = arguments, folder
        corpus = folder / "evaluation.parquet"
        table = pq.read_table(campaign / "corpus/evaluation.parquet")
        pq.write_table(table.slice(0, arguments.entries), corpus)
        environment = folder / "environment.json"
        inspect_offer({"offer": "here", "device": "cpu"}, environment)
        self.inputs = Inputs(
            corpus=str(corpus),
            corpus_fingerprint=str(campaign / "corpus/fingerprint.json"),
            tokenizer=str(campaign / "model/tokenizer.json"),
            tokenizer_settings=str(campaign / "model/tokenizer_settings.json"),
            fingerprint=str(campaign / "model/fingerprint.json"),
            labels=str(campaign / "model/labels.json"),
            seal=str(campaign / "protocol/seal.json"),
            environment=str(environment),
        )
        # Paths of the model's files are relative to where the campaign was run.
        os.chdir(campaign.parents[1])

    def row(self, name: str, options: dict) -> dict:
        """Time one variant, the three in turn, and return its row."""
        settings = {
            "campaign": "benchmark",
            "variant": Variant(variant="v", **options).model_dump(mode="json"),
            "offer": Offer(
                offer="here",
                provider="-",
                gpu="-",
                device="cpu",
                threads=self.arguments.threads,
            ).model_dump(mode="json"),
            "protocol": PROTOCOL,
        }
        times: dict[str, list[float]] = {"pass": [], "bare": [], "pipeline": []}
        around, others = [], []
        with Loop("bare", self, settings) as bare, Loop("pipeline", self, settings) as pipeline:
            for repetition in range(1, self.arguments.rounds + 1):
                record = self._pass(settings, repetition)
                times["pass"].append(record["main_time_s"])
                around.append(record["wall_time_s"] - record["main_time_s"])
                others.append(record["conditions"]["cpus_used_by_others"] or 0)
                times["bare"].append(bare.time())
                times["pipeline"].append(pipeline.time())
        return {
            "name": name,
            **{key: statistics.median(values) for key, values in times.items()},
            "ratios": [a / b for a, b in zip(times["pass"], times["bare"], strict=True)],
            "around": statistics.median(around),
            "others": max(others),
        }

    def _pass(self, settings: dict, repetition: int) -> dict:
        record = measure_pass(
            Pass(
                settings=settings,
                inputs=self.inputs,
                repetition=repetition,
                place={"rank": 0, "round": repetition, "position": 0},
                results=self.folder / "results",
                record=self.folder / "results/record.json",
                predictions=self.folder / "results/predictions.parquet",
                lock_folder=str(self.folder),
            )
        )
        if record["status"] != "ok":
            raise SystemExit(f"the pass failed: {record['reason']}\n{record['log_tail']}")
        return record


class Loop:
    """A warm process that runs one of the other two loops whenever it is asked to."""

    def __init__(self, kind: str, bench: Bench, settings: dict) -> None:
        self.request = {
            "kind": kind,
            "inputs": bench.inputs.__dict__,
            "variant": settings["variant"],
            "threads": bench.arguments.threads,
        }
        self.environment = worker_environment(bench.arguments.threads, deterministic=True)

    def __enter__(self) -> "Loop":
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--loop"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self.environment},
            text=True,
        )
        self._say(json.dumps(self.request))
        return self

    def time(self) -> float:
        """Run the loop once and return its seconds."""
        self._say("go")
        return float(self.process.stdout.readline())

    def _say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()


def loop() -> None:
    """The process behind `Loop`: a line of JSON says what, each further line asks for a run."""
    request = json.loads(sys.stdin.readline())
    import torch

    torch.set_num_threads(request["threads"])
    run = {"bare": _bare, "pipeline": _pipeline}[request["kind"]](request)
    run(slice(0, 64))
    for _ in sys.stdin:
        start = time.perf_counter()
        run(slice(None))
        print(time.perf_counter() - start, flush=True)


def _bare(request: dict):
    """Return a function that computes the pass's own batches and nothing else."""
    import torch

    from atpar.engine.batching import Grouping, Padding, pad
    from atpar.engine.corpus import windows
    from atpar.engine.tokens import Encoder

    inputs, variant = request["inputs"], request["variant"]
    fingerprint = json.loads(Path(inputs["fingerprint"]).read_text())
    encoder = Encoder(Path(inputs["tokenizer"]), fingerprint["usable_length"])
    ((_, texts),) = windows(Path(inputs["corpus"]), None)
    encoded, padding = encoder.encode(texts), Padding(fingerprint["pad_token_id"])
    grouping = Grouping(variant["batch_size"], variant["token_budget"], variant["order"])
    batches = []
    for rows in grouping.batches(encoded.lengths, padding):
        batch = pad(rows, [encoded.ids[row] for row in rows], None, padding)
        mask = None if batch.mask is None else torch.from_numpy(batch.mask)
        batches.append((torch.from_numpy(batch.ids), mask))
    model = _model(request)

    @torch.inference_mode()
    def run(part: slice) -> None:
        for ids, mask in batches[part]:
            model(input_ids=ids, attention_mask=mask)

    return run


def _pipeline(request: dict):
    """Return a function that runs transformers' pipeline over the texts in corpus order."""
    from transformers import PreTrainedTokenizerFast, pipeline

    from atpar.engine.corpus import windows

    inputs = request["inputs"]
    settings = json.loads(Path(inputs["tokenizer_settings"]).read_text())
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=inputs["tokenizer"],
        pad_token=settings["pad_token"],
        model_max_length=settings["model_max_length"],
    )
    ((_, texts),) = windows(Path(inputs["corpus"]), None)
    classify = pipeline("text-classification", model=_model(request), tokenizer=tokenizer)
    size = request["variant"]["batch_size"] or 8

    def run(part: slice) -> None:
        classify(texts[part], batch_size=size, truncation=True, top_k=None)

    return run


def _model(request: dict):
    import torch

    from atpar.engine.classifier import architecture
    from atpar.engine.job import model_folder

    folder = model_folder(json.loads(Path(request["inputs"]["fingerprint"]).read_text()))
    kind = getattr(__import__("transformers"), architecture(folder))
    dtype = {"bf16": torch.bfloat16}.get(request["variant"]["precision"], torch.float32)
    return kind.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa").eval()


def _table(rows: list[dict], arguments: argparse.Namespace) -> str:
    lines = [
        f"{arguments.entries} texts, {arguments.threads} threads, medians of {arguments.rounds} "
        "rounds in turn, in seconds. *Others* is the largest number of CPUs that other processes",
        "kept busy during a pass: above 0.1 the figures are disturbed.",
        "",
        "| variant | pass | bare loop | pass / bare (each round) | pipeline | pipeline / pass "
        "| start-up and end | others |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ratios = " ".join(f"{ratio:.2f}" for ratio in row["ratios"])
        lines.append(
            f"| {row['name']} | {row['pass']:.2f} | {row['bare']:.2f} "
            f"| **{statistics.median(row['ratios']):.2f}** ({ratios}) | {row['pipeline']:.2f} "
            f"| {row['pipeline'] / row['pass']:.2f} | {row['around']:.1f} | {row['others']:.2f} |"
        )
    return "\n".join(lines)


def _write(readme: Path, table: str) -> None:
    """Put the table between its marks, or at the end of the file."""
    text = readme.read_text(encoding="utf-8") if readme.exists() else "# Benchmarks\n"
    command = f"`python benchmarks/pass.py {' '.join(sys.argv[1:])}`"
    section = f"{MARK}\n{command}\n\n{table}\n{MARK}"
    before, mark, rest = text.partition(MARK)
    after = rest.partition(MARK)[2]
    if not mark:
        before, after = f"{text.rstrip()}\n\n## A pass beside a bare loop and a pipeline\n\n", "\n"
    readme.write_text(before + section + after, encoding="utf-8")


if __name__ == "__main__":
    if "--loop" in sys.argv:
        loop()
    else:
        main()
