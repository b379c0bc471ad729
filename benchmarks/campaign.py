"""How planning grows with the campaign: dry run, and a run that finds nothing to do.

    python benchmarks/campaign.py [--passes 15 150 1000 5000] [--runs 3] [--write]

For each number of passes a workspace is made with that many (offers x variants x repetitions), and
timed are a dry run of all of it and, with every output in place, a run that finds nothing to do.
Beside them stands Snakemake's own floor: a bare Snakefile whose jobs have as many inputs and
outputs, timed in the same rounds. Nothing is measured, so no model is loaded. The table is printed
and, with `--write`, put into benchmarks/README.md.
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
from marks import write_section

REPOSITORY = Path(__file__).resolve().parents[1]
CARRIED = ["Snakefile", "workflow", "config", "profiles", "resources/tariffs", "resources/kit"]
TOUCHING = (
    "from snakemake.executors.touch import Executor; Executor.SLEEPING_TIME = 0; "
    "from snakemake.cli import main; main()"
)
"""Snakemake that sleeps no tenth of a second after each job it touches: it would be 12 minutes."""
SHAPES = {15: (1, 3, 5), 150: (2, 15, 5), 1000: (4, 50, 5), 5000: (10, 100, 5)}
FLOOR = """
OPTIONS = [(offer, variant) for offer in range(OFFERS) for variant in range(VARIANTS)]
def of_option(folder, offer="{offer}", variant="{variant}"):
    return [f"{folder}/{offer}/{variant}/{number}" for number in range(REPETITIONS)]
def of_all(folder):
    return [path for option in OPTIONS for path in of_option(folder, *option)]
def files(folder):
    return [f"{folder}/{offer}/{variant}" for offer, variant in OPTIONS]
rule all:
    input: "report"
rule shared:
    output: "shared/{number}"
    shell: "touch {output}"
rule measure_pass:
    input: [f"shared/{number}" for number in range(8)]
    output: "passes/{offer}/{variant}/{number}", "predictions/{offer}/{variant}/{number}"
    params: settings=lambda w: w.offer + w.variant + "x" * 1000
    shell: "touch {output}"
rule check:
    input: of_option("passes"), of_option("predictions"), "shared/0"
    output: "checks/{offer}/{variant}"
    shell: "touch {output}"
rule judge:
    input: "checks/{offer}/{variant}", of_option("predictions"), "checks/{offer}/0"
    output: "quality/{offer}/{variant}"
    shell: "touch {output}"
rule tabulate:
    input: of_all("passes"), files("checks"), files("quality")
    output: "table"
    shell: "touch {output}"
rule report:
    input: "table", of_all("passes"), of_all("predictions"), files("quality")
    output: "report"
    shell: "touch {output}"
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
    """Make every output of the plan, and Snakemake's own notes of what each was made with."""
    listed = run(folder, [*command, "--summary"]).stdout.splitlines()[1:]
    paths = [folder / line.split("\t")[0] for line in listed]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    # One time for all: no output is older than what it was made from.
    now = time.time()
    for path in folder.rglob("*"):
        os.utime(path, (now, now), follow_symlinks=False)
    # As many cores as passes, and one for each of them: they're all touched at once.
    many = ["--cores", str(len(paths)), "--set-threads", "measure_pass=1"]
    forced = ["--touch", "--forceall", "--quiet", "all"]
    run(folder, [*command, *many, *forced], start=("-c", TOUCHING))


def run(
    folder: Path, command: list[str], start: tuple[str, str] = ("-m", "snakemake")
) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, *start, *command],
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


def times(
    commands: dict[Path, list[str]], more: list[str], runs: int, said: str
) -> dict[Path, float]:
    """Return the median wall time of each folder's command, the folders run in turn.

    `said` must be in what each prints.
    """
    found: dict[Path, list[float]] = {folder: [] for folder in commands}
    for _ in range(runs):
        for folder, command in commands.items():
            start = time.perf_counter()
            done = run(folder, [*command, *more])
            found[folder].append(time.perf_counter() - start)
            said_by = done.stdout + done.stderr
            if said not in said_by:
                sys.exit(f"{folder.name}: expected {said!r}, got:\n{said_by[-2000:]}")
    return {folder: statistics.median(one) for folder, one in found.items()}


def row(passes: int, runs: int) -> str:
    """Measure one size and return its line of the table."""
    with tempfile.TemporaryDirectory() as name:
        ours, bare = Path(name, "ours"), Path(name, "bare")
        workspace(ours, *SHAPES[passes])
        bare.mkdir()
        (bare / "Snakefile").write_text(floor(*SHAPES[passes]))
        commands = {ours: ["--configfile", "overlay.yaml"], bare: []}
        plan = times(commands, ["-n"], runs, "measure_pass")
        for folder, command in commands.items():
            put_outputs_in_place(folder, command)
        idle = times(commands, ["--cores", "1"], runs, "Nothing to be done")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    cells = [
        f"{one[ours]:.1f} | {one[bare]:.1f} | {one[ours] / one[bare]:.1f}" for one in (plan, idle)
    ]
    return f"| {passes} | {' | '.join(cells)} | {peak:.0f} |"


def floor(offers: int, variants: int, repetitions: int) -> str:
    """Return the bare Snakefile of that many passes."""
    sizes = {"OFFERS": offers, "VARIANTS": variants, "REPETITIONS": repetitions}
    return "".join(f"{name} = {size}\n" for name, size in sizes.items()) + FLOOR


def main() -> None:
    """Measure all sizes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passes", type=int, nargs="+", default=sorted(SHAPES), choices=SHAPES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        "| passes | dry run, s | bare | ratio | nothing to do, s | bare | ratio | peak MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    print("\n".join(lines))
    for passes in arguments.passes:
        lines.append(row(passes, arguments.runs))
        print(lines[-1], flush=True)
    if arguments.write:
        text = (
            f"Medians of {arguments.runs} runs; *bare* is Snakemake's floor for as many jobs.\n\n"
        )
        write_section("campaign.py", "Large campaigns", text + "\n".join(lines))


if __name__ == "__main__":
    main()
