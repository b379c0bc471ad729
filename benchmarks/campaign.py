"""How planning grows with the campaign: dry run, and a run that finds nothing to do.

    python benchmarks/campaign.py [--passes 15 150 1000 5000] [--runs 3]

For each number of passes a workspace is made with that many (offers x variants x repetitions),
every output in place, and both are timed (median of the runs). Beside them stands Snakemake's own
floor: a bare Snakefile with as many jobs of one rule in the same chain length, timed in the same
run. Nothing is measured, so no model is loaded.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
CARRIED = ["Snakefile", "workflow", "config", "profiles", "resources/tariffs", "resources/kit"]
SHAPES = {15: (1, 3, 5), 150: (2, 15, 5), 1000: (4, 50, 5), 5000: (10, 100, 5)}
FLOOR = """
rule all:
    input: "done.txt"
rule one:
    output: "one/{number}.txt"
    shell: "echo > {output}"
rule done:
    input: [f"one/{number}.txt" for number in range(PASSES)]
    output: "done.txt"
    shell: "echo > {output}"
"""


def workspace(folder: Path, offers: int, variants: int, repetitions: int) -> None:
    """Make a workspace for that many passes, its source files empty: they're only planned for."""
    for name in CARRIED:
        source, target = REPOSITORY / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, target)
    (folder / "model").mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (folder / "model" / name).write_text("{}")
    (folder / "corpus.csv").write_text("id,text,label\n")
    rows = "".join(f"v{n}\tfirst\tfp32\t{n + 1}\tcorpus\n" for n in range(variants))
    (folder / "variants.tsv").write_text("variant\tseries\tprecision\tbatch_size\torder\n" + rows)
    rows = "".join(f"o{n}\tthis-machine\tone-thread\thourly\tcpu\t1\n" for n in range(offers))
    (folder / "offers.tsv").write_text("offer\tprovider\tgpu\tbilling\tdevice\tthreads\n" + rows)
    overlay = {
        "campaign": "size",
        "corpus": {"files": ["corpus.csv"], "columns": {"split": None}},
        "model": {"path": "model"},
        "protocol": {"repetitions": repetitions, "tolerance": {"reference": "v0"}},
        "tables": {"variants": "variants.tsv", "offers": "offers.tsv"},
    }
    (folder / "overlay.yaml").write_text(yaml.safe_dump(overlay))


def put_outputs_in_place(folder: Path, command: list[str]) -> None:
    """Make every output of the plan as an empty file, upstream ones first."""
    listed = run(folder, [*command, "--summary"]).stdout.splitlines()[1:]
    paths = [folder / line.split("\t")[0] for line in listed]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    # One time for all: no output is older than what it was made from.
    now = time.time()
    for path in folder.rglob("*"):
        os.utime(path, (now, now), follow_symlinks=False)


def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "workflow")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(
            f"snakemake {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return done


def seconds(folder: Path, command: list[str], runs: int, said: str) -> float:
    """Return the median wall time of the command; `said` must be in what it prints."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        done = run(folder, command)
        times.append(time.perf_counter() - start)
        assert said in done.stdout + done.stderr, done.stdout[-1000:] + done.stderr[-1000:]
    return statistics.median(times)


def row(passes: int, runs: int) -> str:
    """Measure one size and return its line of the table."""
    with tempfile.TemporaryDirectory() as name:
        ours, floor = Path(name, "ours"), Path(name, "floor")
        workspace(ours, *SHAPES[passes])
        command = ["--configfile", "overlay.yaml"]
        plan = seconds(ours, [*command, "-n"], runs, "measure_pass")
        put_outputs_in_place(ours, command)
        idle = seconds(ours, [*command, "-n"], runs, "Nothing to be done")
        floor.mkdir()
        (floor / "Snakefile").write_text(FLOOR.replace("PASSES", str(passes)))
        bare = seconds(floor, ["--cores", "1", "-n"], runs, "one")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return f"| {passes} | {plan:.1f} | {idle:.1f} | {bare:.1f} | {plan / bare:.1f} | {peak:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passes", type=int, nargs="+", default=sorted(SHAPES), choices=SHAPES)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print("| passes | dry run, s | nothing to do, s | bare Snakefile, s | ratio | peak MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for passes in arguments.passes:
        print(row(passes, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
