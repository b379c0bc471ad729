"""How far off is a forecast? Fit on one part of the example's corpus, predict another.

    python benchmarks/forecast.py

For each variant: short passes over three mixes of lengths from one half of the tuning texts, then
passes over a fourth mix from the other half. Printed are the error of the forecast from all three
mixes, from the stretches of the passes over a single mix (what a campaign has: it measures one
corpus), and from those passes taken whole, and whether the measured time lies in the forecast's
interval. Passes of all parts alternate, so that drift meets all alike.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq

from atpar.calendar.forecast import (
    Forecast,
    Load,
    Observation,
    forecast,
    padded_tokens,
    stretches,
)

VARIANTS = {"batch 1": (1, "corpus"), "batch 8": (8, "corpus"), "batch 8 grouped": (8, "length")}
MIXES = {"short": (0.9, 0.1, 0.0), "medium": (0.2, 0.7, 0.1), "long": (0.3, 0.3, 0.4)}
OTHER = (0.6, 0.3, 0.1)
"""The example's own mix, which no fitted part has."""
BOUNDS = (32, 128)
"""Token counts that part short, medium and long."""
LIMIT = 512


def main() -> None:
    """Measure, forecast, and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="resources/example/corpus.parquet")
    parser.add_argument("--model", default="resources/example/model")
    parser.add_argument("--entries", type=int, default=120, help="entries of a fitted part")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="one thread, and its processor time: for a machine that does other things as well",
    )
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1 if options.cpu_time else options.threads)
    runner = Runner(
        Path(options.model), time.thread_time if options.cpu_time else time.perf_counter
    )
    texts = pq.read_table(options.corpus, columns=["text"])["text"].to_pylist()
    counts = runner.lengths(texts)
    draw = np.random.default_rng(20260924)
    order = draw.permutation(len(texts))
    half = len(order) // 2
    parts = {
        name: pick(order[:half], counts, mix, options.entries, draw) for name, mix in MIXES.items()
    }
    target = pick(order[half:], counts, OTHER, 2 * options.entries, draw)
    print(f"{options.entries} entries a part, {options.passes} passes, seconds")
    ways = ("three mixes", "stretches of one mix", "one mix, whole passes")
    heads = [cell for way in ways for cell in (f"from {way}", "error", "in interval")]
    print(f"| variant | measured | {' | '.join(heads)} |")
    print("|---" * (2 + len(heads)) + "|")
    for name, variant in VARIANTS.items():
        seen, measured = observe(runner, texts, counts, parts, target, variant, options.passes)
        print(row(name, variant, seen, measured, counts[target]))


def pick(pool: np.ndarray, counts: np.ndarray, mix, entries: int, draw) -> np.ndarray:
    """Return places of so many entries with the mix of short, medium and long ones."""
    bucket = np.searchsorted(BOUNDS, counts[pool], side="left")
    chosen = [
        draw.choice(pool[bucket == place], round(share * entries), replace=False)
        for place, share in enumerate(mix)
    ]
    return draw.permutation(np.concatenate(chosen))


def observe(runner, texts, counts, parts, target, variant, passes):
    """Return the whole passes of every part with their marks, and the times over the target.

    The passes alternate.
    """
    runner.run([texts[place] for place in target[:16]], *variant)  # warm-up
    seen: dict[str, list[tuple[Observation, list]]] = {name: [] for name in parts}
    measured = []
    for number in range(passes):
        for name, places in parts.items():
            seconds, marks = runner.run([texts[place] for place in places], *variant)
            padded = padded_tokens(counts[places], *variant, "longest", LIMIT)
            whole = Observation(f"{name} {number}", len(places), padded, seconds)
            seen[name].append((whole, marks))
        measured.append(runner.run([texts[place] for place in target], *variant)[0])
    return seen, measured


def row(name, variant, seen, measured, counts) -> str:
    """Return a line of the table."""
    load = Load(len(counts), padded_tokens(counts, *variant, "longest", LIMIT))
    real = median(measured)
    one_mix = seen["short"]
    guesses = (
        forecast([whole for part in seen.values() for whole, _ in part], load),
        forecast([one for whole, marks in one_mix for one in stretches(whole, marks)], load),
        forecast([whole for whole, _ in one_mix], load),
    )
    cells = [cell for guess in guesses for cell in shown(guess, real)]
    return f"| {' | '.join([name, f'{real:.2f}', *cells])} |"


def shown(guess: Forecast, real: float) -> list[str]:
    """Return the forecast with its interval, its error, and whether the interval holds."""
    inside = "yes" if guess.low <= real <= guess.high else "no"
    return [
        f"{guess.seconds:.2f} ({guess.low:.2f} to {guess.high:.2f})",
        f"{100 * (guess.seconds / real - 1):+.1f} %",
        inside,
    ]


class Runner:
    """The model with plain batches: tokenized, padded, classified, labels on the host."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.clock = clock
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def lengths(self, texts: list[str]) -> np.ndarray:
        """Return the token count of each text, special tokens included."""
        encoded = self.tokenizer(texts, truncation=True, max_length=LIMIT)
        return np.array([len(ids) for ids in encoded["input_ids"]])

    def run(self, texts: list[str], batch_size: int, order: str) -> tuple[float, list]:
        """Classify the texts: seconds from tokenizing to the last label, and the marks of a pass.

        Marks are (entries, padded tokens, seconds of computing) so far, as the engine keeps them.
        """
        import torch

        start = self.clock()
        encoded = self.tokenizer(texts, truncation=True, max_length=LIMIT)
        lengths = np.array([len(ids) for ids in encoded["input_ids"]])
        places = np.arange(len(texts))
        if order == "length":
            places = np.argsort(-lengths, kind="stable")  # longest first, as the engine does
        marks, padded_so_far, before = [], 0, self.clock()
        with torch.inference_mode():
            for first in range(0, len(places), batch_size):
                members = places[first : first + batch_size]
                batch = {name: [encoded[name][one] for one in members] for name in encoded}
                padded = self.tokenizer.pad(batch, return_tensors="pt")
                self.model(**padded).logits.argmax(-1).tolist()
                padded_so_far += padded["input_ids"].numel()
                done = first + len(members)
                marks.append((done, padded_so_far, self.clock() - before))
        return self.clock() - start, marks


if __name__ == "__main__":
    main()
