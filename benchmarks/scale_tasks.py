"""One task of scale.py in a process of its own: `python scale_tasks.py TASK FOLDER [...]`.

Prints one JSON object: seconds (of the task, imports aside), peak_bytes (largest resident set of
the process), and answers where a task has some to compare.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from atpar.config.corpus import Bucket, Columns, Corpus, Sample

CORPUS = Corpus(files=["-"], columns=Columns(split=None)).model_dump(mode="json")
OPTIONS = ("reference", "other")


def sha256sum(folder: Path, kind: str) -> Callable:
    """Digest the corpus' file with the command of that name."""
    return lambda: subprocess.run(
        ["sha256sum", folder / f"corpus.{kind}"], check=True, stdout=subprocess.DEVNULL
    )


def fingerprint(folder: Path, kind: str) -> Callable:
    """Read and fingerprint the corpus."""
    import numpy as np
    import pyarrow as pa

    from atpar.corpus.fingerprint import fingerprint_corpus

    # pyarrow imports what it has for pandas at the first array that is made from NumPy's.
    pa.array(np.empty(0))
    return lambda: fingerprint_corpus(
        [str(folder / f"corpus.{kind}")],
        CORPUS["columns"],
        CORPUS["dialect"],
        CORPUS["policy"],
        folder / "source.parquet",
        folder / "source.json",
    )


def split(folder: Path) -> Callable:
    """Count tokens and draw every text, in a shuffled order: what takes most memory."""
    from atpar.corpus.entries import Tables
    from atpar.corpus.split import split_buckets

    names = ("entries", "evaluation", "reference", "tuning")
    everything = Bucket(name="all", up_to_tokens=None, entries=_facts(folder)["texts"])
    sample = Sample(order="shuffled", buckets=[everything])
    return lambda: split_buckets(
        source=folder / "source.parquet",
        source_fingerprint=folder / "source.json",
        tokenizer=folder / "tokenizer.json",
        tokenizer_settings=folder / "tokenizer_settings.json",
        sample=sample.model_dump(mode="json"),
        label_map={},
        empty_text="accept",
        tables=Tables(*(folder / f"{name}.parquet" for name in names)),
        fingerprint=folder / "fingerprint.json",
    )


def checks(folder: Path, option: str = "other") -> Callable:
    """Check the predictions of one pass."""
    import pandas as pd
    import pandera.pandas as pa

    from atpar.quality.check import check_option

    # pandera imports its engine at the first validation.
    pa.DataFrameSchema().validate(pd.DataFrame())
    return lambda: check_option(
        records=[folder / f"passes/{option}.json"],
        predictions=[folder / f"predictions/{option}.parquet"],
        reference=folder / "reference.parquet",
        fingerprint=folder / "model.json",
        corpus=folder / "fingerprint.json",
        seal=folder / "seal.json",
        output=folder / "checks" / f"{option}.json",
    )


def quality(folder: Path) -> Callable:
    """Judge the pass beside the reference's; the answers are those that DuckDB gives too."""
    from atpar.quality.evaluate import evaluate_option

    protocol = json.loads((folder / "seal.json").read_text())["sealed"]["protocol"]

    def judge() -> dict:
        evaluate_option(
            checks=folder / "checks/other.json",
            predictions=[folder / "predictions/other.parquet"],
            reference_checks=folder / "checks/reference.json",
            reference_predictions=[folder / "predictions/reference.parquet"],
            reference=folder / "reference.parquet",
            fingerprint=folder / "model.json",
            output=folder / "quality/other.json",
            protocol=protocol,
        )
        (checked,) = json.loads((folder / "checks/other.json").read_text())["passes"]
        (judged,) = json.loads((folder / "quality/other.json").read_text())["passes"]
        groups = {one["value"]: one["value_of_metric"] for one in judged["subgroups"]}
        return {
            "passed": checked["passed"],
            "rows": checked["observed_ids"],
            "metrics": judged["metrics"],
            "groups": dict(sorted(groups.items())),
            "changed_labels": judged["changed_labels"],
            "changed_ids": judged["changed_ids"],
            "largest_score_difference": judged["largest_score_difference"],
        }

    return judge


def tables(folder: Path) -> Callable:
    """Tabulate the attempts and summarise the passes."""
    from atpar.decision.attempts import tabulate_attempts
    from atpar.decision.summary import summarise_passes

    options = [
        {"offer": "here", "variant": one, "series": None, "recovers": None, "planned_passes": 1}
        for one in OPTIONS
    ]

    def tabulate() -> None:
        tabulate_attempts(
            journals=folder / "journal",
            records=[folder / f"passes/{one}.json" for one in OPTIONS],
            checks=[folder / f"checks/{one}.json" for one in OPTIONS],
            qualities=[folder / "quality/other.json"],
            exclusions=folder / "exclusions.tsv",
            metric="accuracy",
            output=folder / "attempts.csv",
        )
        summarise_passes(
            attempts=folder / "attempts.csv",
            qualities=[folder / "quality/other.json"],
            summary=folder / "summary.csv",
            deliverables=folder / "deliverables.csv",
            options=options,
            expected=["corpus"],
            metric="accuracy",
        )

    return tabulate


def _facts(folder: Path) -> dict:
    return json.loads((folder / "made.json").read_text())


def peak_bytes() -> int:
    """Return the largest resident set of this process; unlike ru_maxrss not its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


def main() -> None:
    """Prepare a task (imports), time it, and print what was measured."""
    task, folder, *more = sys.argv[1:]
    if task in ("make", "predict"):
        import scale_inputs

        prepared = getattr(scale_inputs, task)(Path(folder), *more)
    elif task == "duckdb":
        from scale_duckdb import ask

        prepared = ask(Path(folder))
    else:
        prepared = globals()[task](Path(folder), *more)
    start = time.perf_counter()
    answers = prepared()
    measured = {"seconds": time.perf_counter() - start, "peak_bytes": peak_bytes()}
    if isinstance(answers, dict) and task in ("quality", "duckdb"):
        measured["answers"] = answers
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
