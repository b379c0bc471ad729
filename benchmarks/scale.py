"""How do the stages that see every text grow with the corpus, in time and in memory?

    pip install -r requirements-benchmarks.txt
    python benchmarks/scale.py --example resources/example [--texts 10000 100000 1000000 5000000]

`--example` is the worked example's folder with corpus.parquet and tokenizer/tokenizer.json, as any
run of the example makes it. Corpora are made of its sentences, one to three a text. Each stage runs
in a process of its own, `--runs` times; shown are medians of its time, imports aside, and the
largest peak of its resident set. In the same runs:

- sha256sum reads the same bytes as the fingerprint: the corpus as an uncompressed Arrow file;
- DuckDB computes the same as checks and quality, one query on all cores, with the file's digest;
  the answers are compared.

With `--formats N` a corpus of N texts is also fingerprinted as Parquet, CSV and JSONL; with
`--allocators N` its stages also run with memory of pyarrow's own allocator, in turn with the C
library's. The tables are printed and, with `--write`, put into benchmarks/README.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from marks import write_section

from atpar.stage import ENVIRONMENT

STAGES = ("fingerprint", "split", "checks", "quality", "tables")
BESIDE = ("sha256sum", "duckdb")
FORMATS = ("parquet", "csv", "jsonl")
ALLOCATORS = {"the C library": {}, "pyarrow": dict.fromkeys(ENVIRONMENT, "")}
"""Who allocates -> environment variables; an empty one is as good as none."""
HEAD = "| texts | {} |\n| --- |{}"


def child(task: str, folder: Path, *more: str, variables: dict[str, str] | None = None) -> dict:
    """Run one task in a process of its own; return what it measured: seconds, peak_bytes, ..."""
    script = Path(__file__).with_name("scale_tasks.py")
    done = subprocess.run(
        [sys.executable, script, task, folder, *more],
        env=ENVIRONMENT | os.environ | (variables or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{task} in {folder} failed:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(tasks: list[tuple[str, ...]], folder: Path, runs: int) -> dict[str, dict]:
    """Run the tasks in turn, round after round; return task -> medians and largest peak."""
    found: dict[str, list[dict]] = {}
    for _ in range(runs):
        for task, *more in tasks:
            found.setdefault(" ".join([task, *more]), []).append(child(task, folder, *more))
    return {name: summary(results) for name, results in found.items()}


def summary(results: list[dict]) -> dict:
    """Return the median of the seconds, the largest peak, and the answers of one task's runs."""
    return {
        "seconds": statistics.median(one["seconds"] for one in results),
        "peak": max(one["peak_bytes"] for one in results),
        "answers": [one.get("answers") for one in results],
    }


def row(texts: int, arguments: argparse.Namespace) -> dict[str, dict]:
    """Make a corpus of that size and measure every stage on it."""
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="scale-") as name:
        folder = Path(name)
        child("make", folder, str(texts), str(arguments.example.resolve()))
        # The corpus' stages first: predictions are made of the table that the split writes.
        corpus = [("sha256sum", "arrow"), ("fingerprint", "arrow"), ("split",)]
        found = measure(corpus, folder, arguments.runs)
        if texts == arguments.formats:
            others = [(task, kind) for kind in FORMATS for task in ("sha256sum", "fingerprint")]
            found |= measure(others, folder, arguments.runs)
        child("predict", folder)
        child("checks", folder, "reference")
        found |= measure(
            [("checks",), ("quality",), ("duckdb",), ("tables",)], folder, arguments.runs
        )
        if texts == arguments.allocators:
            found |= by_allocator(folder, arguments.runs)
        ours = found["quality"]["answers"][-1]
        theirs = found["duckdb"]["answers"][-1]
        if not same(ours, theirs):
            sys.exit(f"{texts} texts: atpar finds\n{ours}\nDuckDB\n{theirs}")
    return found


def by_allocator(folder: Path, runs: int) -> dict[str, dict]:
    """Run the stages that keep tables, with each allocator in turn."""
    found: dict[str, list[dict]] = {}
    for _ in range(runs):
        for task, *more in (("fingerprint", "arrow"), ("checks",), ("quality",)):
            for allocator, variables in ALLOCATORS.items():
                done = child(task, folder, *more, variables=variables)
                found.setdefault(f"{task}, {allocator}", []).append(done)
    return {name: summary(results) for name, results in found.items()}


def same(ours: dict, theirs: dict) -> bool:
    """Tell whether both found the same; floats to nine places."""

    def rounded(value):
        if isinstance(value, dict):
            return {key: rounded(one) for key, one in value.items()}
        return round(value, 9) if isinstance(value, float) else value

    return rounded(ours) == rounded(theirs)


def seconds_table(rows: dict[int, dict]) -> str:
    """Return the table of times and of the two ratios."""
    names = ["fingerprint", "split", "checks", "quality", "tables", "sha256sum"]
    names += ["fingerprint / sha256sum", "DuckDB", "(checks + quality) / DuckDB"]
    lines = [HEAD.format(" | ".join(f"{name}" for name in names), " --- |" * len(names))]
    for texts, found in rows.items():
        of = {name.split()[0]: found[name]["seconds"] for name in found if name not in OTHERS}
        cells = [f"{of[name]:.2f}" for name in (*STAGES, "sha256sum")]
        cells.append(f"**{of['fingerprint'] / of['sha256sum']:.1f}**")
        cells.append(f"{of['duckdb']:.2f}")
        cells.append(f"**{(of['checks'] + of['quality']) / of['duckdb']:.2f}**")
        lines.append(f"| {texts:,} | ".replace(",", " ") + " | ".join(cells) + " |")
    return "\n".join(lines)


OTHERS = {f"{task} {kind}" for kind in FORMATS for task in ("sha256sum", "fingerprint")}


def peaks_table(rows: dict[int, dict]) -> str:
    """Return the table of peak resident sets, in MB (10^6 bytes)."""
    lines = [HEAD.format(" | ".join([*STAGES, "DuckDB"]), " --- |" * (len(STAGES) + 1))]
    for texts, found in rows.items():
        peak = {name.split()[0]: found[name]["peak"] for name in found if name not in OTHERS}
        cells = [f"{peak[name] / 1e6:.0f}" for name in (*STAGES, "duckdb")]
        lines.append(f"| {texts:,} | ".replace(",", " ") + " | ".join(cells) + " |")
    return "\n".join(lines)


def growth(rows: dict[int, dict]) -> str:
    """Return how the stages' times grew between the two largest corpora."""
    if len(rows) < 2:
        return ""
    small, large = sorted(rows)[-2:]
    pairs = [("fingerprint arrow", "fingerprint"), *((name, name) for name in STAGES[1:])]
    grown = ", ".join(
        f"{shown} {rows[large][key]['seconds'] / rows[small][key]['seconds']:.1f}"
        for key, shown in pairs
    )
    return (
        f"\nFrom {small} to {large} texts, {large / small:g} times as many, times grew: {grown}.\n"
    )


def formats_table(found: dict[str, dict], texts: int) -> str:
    """Return the fingerprint's time for each format of the same corpus."""
    lines = [f"\nThe same {texts} texts in other formats, in seconds:\n"]
    lines.append("| format | fingerprint | sha256sum of the file | ratio | peak MB |")
    lines.append("| --- | --- | --- | --- | --- |")
    for kind in ("arrow", *FORMATS):
        ours, digest = found[f"fingerprint {kind}"], found[f"sha256sum {kind}"]
        lines.append(
            f"| {kind} | {ours['seconds']:.2f} | {digest['seconds']:.2f} "
            f"| {ours['seconds'] / digest['seconds']:.1f} | {ours['peak'] / 1e6:.0f} |"
        )
    return "\n".join(lines)


def allocators_table(found: dict[str, dict], texts: int) -> str:
    """Return the stages' times and peaks with the C library's memory and with pyarrow's own."""
    lines = [f"\n{texts} texts with memory of one allocator and the other, in turn:\n"]
    lines.append("| stage | C library, s | pyarrow, s | ratio | C library, MB | pyarrow, MB |")
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for stage in ("fingerprint", "checks", "quality"):
        ours, theirs = (found[f"{stage}, {allocator}"] for allocator in ALLOCATORS)
        lines.append(
            f"| {stage} | {ours['seconds']:.2f} | {theirs['seconds']:.2f} "
            f"| {theirs['seconds'] / ours['seconds']:.2f} "
            f"| {ours['peak'] / 1e6:.0f} | {theirs['peak'] / 1e6:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure all sizes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--example", type=Path, required=True)
    parser.add_argument(
        "--texts", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 5_000_000]
    )
    parser.add_argument("--formats", type=int, default=0)
    parser.add_argument("--allocators", type=int, default=0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to put some 8 GB at 5 000 000 texts")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = {}
    for texts in arguments.texts:
        rows[texts] = row(texts, arguments)
        print(seconds_table({texts: rows[texts]}), flush=True)
    parts = [
        f"Medians of {arguments.runs} runs, in seconds:\n",
        seconds_table(rows),
        growth(rows),
        "Largest resident set of each stage, in MB:\n",
        peaks_table(rows),
    ]
    if arguments.formats in rows:
        parts.append(formats_table(rows[arguments.formats], arguments.formats))
    if arguments.allocators in rows:
        parts.append(allocators_table(rows[arguments.allocators], arguments.allocators))
    text = "\n".join(part for part in parts if part)
    print(text)
    if arguments.write:
        write_section("scale.py", "Large corpora", text)


if __name__ == "__main__":
    main()
