"""Passes for the benchmark: a campaign's files, a corpus of its own, variants, their quality."""

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pass_loops import Loop
from pass_turns import Turns
from pydantic import ValidationError

from atpar.config.offers import Offer
from atpar.config.variants import Variant
from atpar.engine.environment import inspect_offer
from atpar.engine.job import Inputs
from atpar.engine.supervisor import Pass, measure_pass
from atpar.errors import AtparError

PROTOCOL = {
    "warm_up": {"entries": 32, "passes": 1},
    "seed": 0,
    "deterministic": True,
    "pass_timeout_s": 3600.0,
    "busy_device": "note",
}


class Skipped(Exception):
    """What can't be run here, and why."""


class Bench:
    """Runs passes over the first entries of a campaign's corpus and keeps their records."""

    def __init__(self, campaign: Path, folder: Path, entries: int, threads: int) -> None:
        self.campaign, self.folder, self.threads = campaign, folder, threads
        # Paths of the model's files are relative to where the campaign was run.
        os.chdir(campaign.parents[1])
        corpus, environment = folder / "evaluation.parquet", folder / "environment.json"
        table = pq.read_table(campaign / "corpus/evaluation.parquet").slice(0, entries)
        pq.write_table(table, corpus)
        inspect_offer({"offer": "here", "device": "cpu"}, environment)
        self.entries = table.num_rows
        self.inputs = replace(
            Inputs.of_campaign(campaign, "here"),
            corpus=str(corpus),
            environment=str(environment),
            onnx=str(folder / "model.onnx"),
        )
        self.records: dict[str, list[dict]] = defaultdict(list)

    def settings(self, options: dict) -> dict:
        """Return the settings of a pass; raise Skipped for what this version can't declare."""
        try:
            variant = Variant(variant="v", **options)
        except ValidationError as error:
            raise Skipped(error.errors()[0]["msg"]) from None
        offer = Offer(offer="here", provider="-", gpu="-", device="cpu", threads=self.threads)
        return {
            "campaign": "benchmark",
            "variant": variant.model_dump(mode="json"),
            "offer": offer.model_dump(mode="json"),
            "protocol": PROTOCOL,
        }

    def measure(
        self,
        name: str,
        options: dict,
        inputs: Inputs | None = None,
        loops: Sequence[Loop] = (),
    ) -> dict:
        """Run one pass, keep its record under the variant's name, and return it.

        The loops take turns with it: their seconds are the record's `loops_s`, and its own times
        are those of its turns.

        Raises Skipped for a variant that this machine can't run, or whose pass fails.
        """
        if options.get("backend") == "onnxruntime":
            self._export()
        folder = self._results(name)
        repetition = len(self.records[name]) + 1
        one = Pass(
            settings=self.settings(options),
            inputs=inputs or self.inputs,
            repetition=repetition,
            place={"rank": 0, "round": repetition, "position": 0},
            results=folder,
            record=folder / "record.json",
            predictions=folder / "predictions.parquet",
            lock_folder=str(self.folder),
        )
        with Turns(one.folder(1), loops) as turns:
            record = measure_pass(one)
        if record["status"] == "refused":
            raise Skipped(record["reason"])
        if record["status"] != "ok":
            raise Skipped(f"the pass failed: {record['reason']}")
        if loops:
            record["loops_s"] = turns.seconds
            record["conditions"]["cpus_used_by_others"] = turns.others
            for field in ("main_time_s", "wall_time_s"):
                record[field] -= turns.stopped_s
        self.records[name].append(record)
        return record

    def _results(self, name: str) -> Path:
        return self.folder / "results" / "".join(one for one in name if one.isalnum())

    def _export(self) -> None:
        """Export the model for onnxruntime, once."""
        if Path(self.inputs.onnx).exists():
            return
        try:
            from atpar.engine.export import export_onnx

            export_onnx(
                Path(self.inputs.fingerprint),
                Path(self.inputs.tokenizer_settings),
                Path(self.inputs.onnx),
                self.folder / "export.json",
            )
        except (ImportError, AtparError) as error:
            raise Skipped(f"the model can't be exported: {error}") from None

    def median(self, name: str, field: str = "main_time_s") -> float:
        """Return the median of a field over a variant's passes."""
        return float(np.median([record[field] for record in self.records[name]]))

    def predicted(self, name: str) -> list[str]:
        """Return the labels that a variant's last pass predicted."""
        table = pq.read_table(self._results(name) / "predictions.parquet")
        return table.column("predicted").to_pylist()

    def accuracy(self, name: str) -> float:
        """Return the share of a variant's labels that the campaign's reference confirms."""
        reference = pq.read_table(self.campaign / "corpus/reference.parquet")
        expected = reference.column("label").to_pylist()[: self.entries]
        pairs = zip(self.predicted(name), expected, strict=True)
        return sum(one == other for one, other in pairs) / self.entries

    def changed(self, name: str, reference: str) -> int:
        """Return how many labels differ from those of another variant."""
        pairs = zip(self.predicted(name), self.predicted(reference), strict=True)
        return sum(one != other for one, other in pairs)

    def tolerance(self) -> tuple[float, float]:
        """Return the sealed minimum of the main metric and its largest accepted drop."""
        sealed = json.loads(Path(self.inputs.seal).read_text())["sealed"]["protocol"]
        return sealed["minimum"] or 0.0, sealed["tolerance"]["largest_drop"] or 0.0

    def corpus_of(self, entries: int) -> Inputs:
        """Return the inputs of a corpus of so many short texts: the shortest third, repeated."""
        texts = pq.read_table(self.campaign / "corpus/evaluation.parquet", columns=["text"])
        short = sorted(texts.column(0).to_pylist(), key=len)[: max(1, texts.num_rows // 3)]
        path = self.folder / f"short-{entries}.parquet"
        with pq.ParquetWriter(
            path, pa.schema({"id": pa.string(), "text": pa.large_string()})
        ) as file:
            for start in range(0, entries, 10_000):
                numbers = range(start, min(start + 10_000, entries))
                ids = [f"e{number:08d}" for number in numbers]
                chosen = pa.array(
                    [short[number % len(short)] for number in numbers], pa.large_string()
                )
                file.write_table(pa.table({"id": ids, "text": chosen}))
        return replace(self.inputs, corpus=str(path))
