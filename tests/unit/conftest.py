"""A campaign as it lies on disk once its passes are recorded: no timing, no Snakemake."""

import copy
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.calendar.table import WINDOWS
from atpar.canonical import digest, file_digest, write_json
from atpar.config.protocol import Protocol
from atpar.decision.attempts import tabulate_attempts
from atpar.decision.decide import decide_from_files
from atpar.decision.model import Decision
from atpar.decision.separate import separate_options
from atpar.decision.summary import summarise_passes
from atpar.journal import journal
from atpar.money.schemas import BALANCE
from atpar.money.tables import write_table
from atpar.quality.check import check_option
from atpar.quality.evaluate import evaluate_option
from atpar.rows import read_rows

NAMES = ["billing", "search", "storage", "network"]
BUCKETS = {"short": 120, "medium": 60, "long": 20}
SESSION = "one-session"


@dataclass
class Price:
    """What the balance says of an offer."""

    amount: str | None = "220.00"
    covers: bool = True
    meets_deadline: bool | None = None
    reason: str | None = None
    unknown: str | None = None
    """Items that the amount lacks."""
    expenses: dict[str, str] = field(default_factory=dict)
    """What a variant engages beside the rental."""

    def engaged(self, variant: str) -> str | None:
        """Return what a variant engages."""
        if self.amount is None:
            return None
        return str(Decimal(self.amount) + Decimal(self.expenses.get(variant, "0.00")))


@dataclass
class RecordedCampaign:
    """Files of a campaign with 200 entries; the model errs on every tenth of them."""

    folder: Path
    protocol: dict[str, Any] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=lambda: {"card": Price()})
    columns: dict[str, list[str | None]] = field(default_factory=dict)
    stacks: dict[str, dict[str, str]] = field(default_factory=dict)
    recovers: dict[str, str] = field(default_factory=dict)
    planned: Sequence[tuple[str, str]] = ()
    exclusions: str = ""
    series: Sequence[dict[str, str]] = ()
    clock: int = 0
    places: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = {
            "tolerance": {"reference": "b1"},
            "minimum": 0.85,
            "minimum_span_s": 5.0,
            "subgroup_size": 20,
            **self.protocol,
        }
        self.protocol = Protocol.model_validate(given).model_dump(mode="json")
        buckets = [name for name, size in BUCKETS.items() for _ in range(size)]
        self.ids = [f"{index:03}" for index in range(len(buckets))]
        self.reference = [NAMES[index % len(NAMES)] for index in range(len(buckets))]
        table = {
            "id": pa.array(self.ids, pa.string()),
            "label": pa.array(self.reference, pa.large_string()),
            "bucket": pa.array(buckets, pa.string()),
            **{name: pa.array(values, pa.string()) for name, values in self.columns.items()},
        }
        self.path("corpus").mkdir(parents=True)
        pq.write_table(pa.table(table), self.path("corpus/reference.parquet"))
        self.digests = {
            "evaluation_digest": digest(self.ids),
            "model_digest": digest("model"),
            "seal_digest": digest(self.protocol),
        }
        write_json(
            self.path("corpus/fingerprint.json"),
            {"evaluation_digest": self.digests["evaluation_digest"]},
        )
        write_json(
            self.path("model/fingerprint.json"),
            {"labels": NAMES, "model_digest": self.digests["model_digest"]},
        )
        write_json(
            self.path("protocol/seal.json"),
            {
                "digest": self.digests["seal_digest"],
                "sealed": {
                    "protocol": self.protocol,
                    "evaluation_digest": self.digests["evaluation_digest"],
                },
            },
        )

    def copied(self, folder: Path) -> "RecordedCampaign":
        """Return a copy of this campaign and its files in `folder`."""
        shutil.copytree(self.folder, folder)
        other = copy.copy(self)
        other.folder = folder
        return other

    def path(self, name: str) -> Path:
        """Return a path in the campaign's folder; its parent is there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def predicted(self, changed: dict[int, str] | None = None) -> list[str]:
        """Return the model's predictions with some of them changed, entry -> label."""
        predicted = [
            NAMES[(index + 1) % len(NAMES)] if index % 10 == 0 else name
            for index, name in enumerate(self.reference)
        ]
        for index, name in (changed or {}).items():
            predicted[index] = name
        return predicted

    def wrong(self, indices: Sequence[int]) -> dict[int, str]:
        """Return wrong labels for these entries."""
        return {index: NAMES[(NAMES.index(self.reference[index]) + 2) % 4] for index in indices}

    def table(
        self, changed: dict[int, str] | None = None, rows: int | None = None, shift: float = 0.0
    ) -> pa.Table:
        """Return a prediction table; `shift` moves each top score, `rows` keeps the first ones."""
        predicted = self.predicted(changed)[:rows]
        scores = np.full((len(predicted), len(NAMES)), 0.1 + shift / 3, np.float32)
        for row, name in enumerate(predicted):
            scores[row, NAMES.index(name)] = 0.7 - shift
        return prediction_table(self.ids[: len(predicted)], predicted, scores)

    def record(self, offer: str, variant: str, repetition: int, **changes: Any) -> dict[str, Any]:
        """Return the record of a good attempt with some fields changed."""
        number = changes.get("attempt_number", 1)
        position = self.places.get(repetition, 0)
        self.places[repetition] = position + 1
        self.clock += 1
        record = {
            "definition": 1,
            "campaign": "recorded",
            "offer": offer,
            "variant": variant,
            "repetition": repetition,
            "attempt_id": f"{offer}/{variant}/{repetition}/{number}",
            "attempt_number": number,
            "status": "ok",
            "phase": "done",
            "reason": None,
            "exit_code": 0,
            "signal": None,
            **self.digests,
            "tokenizer_digest": digest("tokenizer"),
            "environment_digest": digest(f"environment of {offer}"),
            "variant_settings": {"variant": variant, "batch_size": 8},
            "planned_rank": self.clock,
            "position": position,
            "round": repetition,
            "session_id": SESSION,
            "started_utc": f"2026-11-30T{self.clock // 60:02}:{self.clock % 60:02}:00+00:00",
            "finished_utc": f"2026-11-30T{self.clock // 60:02}:{self.clock % 60:02}:59+00:00",
            "clock_disagreement_s": 0.001,
            "phases_s": {"import": 2.0, "load": 1.0, "compile": None, "warm_up": 0.5},
            "phase_reasons": {"compile": "the variant isn't compiled"},
            "main_time_s": 10.0,
            "main_time_reason": None,
            "wall_time_s": 14.0,
            "entries_expected": len(self.ids),
            "entries_completed": len(self.ids),
            "tokens_real": 4000,
            "tokens_padded": 5000,
            "entries_truncated": 0,
            "memory": {"peak_host_rss_measured_bytes": 700_000_000},
            "memory_reasons": {},
            "device": {"kind": "cpu", "name": "a CPU", "uuid": None},
            "attention_used": "sdpa",
            "predictions_path": f"attempts/{offer}/{variant}/{repetition}-{number}",
            "predictions_digest": None,
            "notes": [],
        }
        if changes.get("status", "ok") != "ok":
            record |= {
                "phase": "measured",
                "main_time_s": None,
                "main_time_reason": "the attempt didn't end as ok",
                "entries_truncated": None,
            }
        return {**record, **changes}

    def add_pass(
        self,
        variant: str,
        repetition: int,
        *,
        offer: str = "card",
        table: pa.Table | None = None,
        finish: bool = True,
        **changes: Any,
    ) -> None:
        """Write a pass: its events, its record and its predictions; or its start alone."""
        record = self.record(offer, variant, repetition, **changes)
        log = self.path(f"journal/{offer}.jsonl")
        attempt = {"attempt_id": record["attempt_id"]}
        started = {**record, "status": None, "main_time_s": None, "wall_time_s": None}
        journal.append(log, {"event": "started", **attempt, "record": started})
        if finish:
            self._finish(log, record, table)

    def _finish(self, log: Path, record: dict[str, Any], table: pa.Table | None) -> None:
        name = f"{record['offer']}/{record['variant']}/{record['repetition']}"
        predictions = self.path(f"predictions/{name}.parquet")
        if table is None:
            table = self.table(rows=record["entries_completed"])
        pq.write_table(table, predictions)
        if record["predictions_digest"] is None:
            record["predictions_digest"] = file_digest(predictions)
        attempt = {"attempt_id": record["attempt_id"]}
        journal.append(log, {"event": "finished", **attempt, "record": record})
        write_json(self.path(f"passes/{name}.json"), record)

    def add_option(
        self,
        variant: str,
        seconds: Sequence[float],
        *,
        offer: str = "card",
        table: pa.Table | None = None,
        **changes: Any,
    ) -> None:
        """Write one good pass for each duration."""
        for repetition, duration in enumerate(seconds, start=1):
            self.add_pass(
                variant,
                repetition,
                offer=offer,
                table=table,
                main_time_s=duration,
                wall_time_s=duration + 4,
                **changes,
            )

    def options(self) -> list[tuple[str, str]]:
        """Return the options that have a record, in the order of their first attempt."""
        found: dict[tuple[str, str], None] = {}
        for log in sorted(self.folder.glob("journal/*.jsonl")):
            for event in journal.read(log):
                found[event["record"]["offer"], event["record"]["variant"]] = None
        return [(o, v) for o, v in found if any(self.folder.glob(f"passes/{o}/{v}/*.json"))]

    def passes(self, offer: str, variant: str, folder: str, suffix: str) -> list[Path]:
        """Return an option's files in the order of their repetitions."""
        files = self.folder.glob(f"{folder}/{offer}/{variant}/*{suffix}")
        return sorted(files, key=lambda path: int(path.stem))

    def judge(self) -> None:
        """Write checks and quality of every option."""
        fingerprint = self.path("model/fingerprint.json")
        reference = self.path("corpus/reference.parquet")
        for offer, variant in self.options():
            check_option(
                self.passes(offer, variant, "passes", ".json"),
                self.passes(offer, variant, "predictions", ".parquet"),
                reference,
                fingerprint,
                self.path("corpus/fingerprint.json"),
                self.path("protocol/seal.json"),
                self.path(f"checks/{offer}/{variant}.json"),
            )
        for offer, variant in self.options():
            standard = self.protocol["tolerance"]["reference"]
            checks = self.path(f"checks/{offer}/{standard}.json")
            if not checks.exists():
                write_json(checks, {"passes": []})
            evaluate_option(
                self.path(f"checks/{offer}/{variant}.json"),
                self.passes(offer, variant, "predictions", ".parquet"),
                checks,
                self.passes(offer, standard, "predictions", ".parquet"),
                reference,
                fingerprint,
                self.path(f"quality/{offer}/{variant}.json"),
                self.protocol,
            )

    def tabulate(self) -> None:
        """Write attempts, summary, deliverables and separation."""
        options = self.options()
        qualities = [self.path(f"quality/{o}/{v}.json") for o, v in options]
        table = self.path("config/exclusions.tsv")
        table.write_text(f"attempt_id\tcause\tevidence\n{self.exclusions}", encoding="utf-8")
        tabulate_attempts(
            self.path("journal/any").parent,
            [path for o, v in options for path in self.passes(o, v, "passes", ".json")],
            [self.path(f"checks/{o}/{v}.json") for o, v in options],
            qualities,
            table,
            self.protocol["metric"],
            self.path("attempts.csv"),
            {variant: "first" for _, variant in options},
        )
        summarise_passes(
            self.path("attempts.csv"),
            qualities,
            self.path("summary.csv"),
            self.path("deliverables.csv"),
            [
                {
                    "offer": offer,
                    "variant": variant,
                    "series": "first",
                    "recovers": self.recovers.get(variant),
                    "planned_passes": self.protocol["repetitions"],
                }
                for offer, variant in options
            ],
            self.protocol["deliverables"],
            self.protocol["metric"],
        )
        separate_options(
            self.path("attempts.csv"),
            self.path("separation.csv"),
            self.path("separation.json"),
            options,
            self.protocol,
            self.series,
        )

    def pay(self) -> None:
        """Write the balance, the windows and the environments that other rooms write."""
        delivered = read_rows(self.path("deliverables.csv"))
        rows = []
        for offer, variant in self.options():
            price = self.prices[offer]
            accepted = sum(
                row["accepted"] == "true"
                for row in delivered
                if (row["offer"], row["variant"]) == (offer, variant)
            )
            each, amount = None, price.engaged(variant)
            if accepted and amount:
                each = f"{float(amount) / accepted:.2f}"
            rows.append(
                {
                    "offer": offer,
                    "variant": variant,
                    "deliverables_expected": len(self.protocol["deliverables"]),
                    "deliverables_accepted": accepted,
                    "engaged_amount": amount,
                    "currency": "USD",
                    "engaged_reason": price.reason,
                    "unknown_items": price.unknown,
                    "cost_per_deliverable": each,
                    "cost_per_deliverable_reason": None if each else "nothing was accepted",
                    "billing": "package",
                    "window_h": "96",
                    "unused_h": "72",
                    "covers_window": price.covers,
                    "definition": 1,
                }
            )
        write_table(self.path("balance.csv"), rows, BALANCE)
        write_table(self.path("window.csv"), map(self._window, self.prices), WINDOWS)
        for offer in self.prices:
            write_json(
                self.path(f"offers/{offer}/environment.json"),
                {
                    "offer": offer,
                    "driver": None,
                    "software": {"torch": "2.13.0", **self.stacks.get(offer, {})},
                },
            )

    def _window(self, offer: str) -> dict[str, Any]:
        start, end = "2026-11-30T00:00:00Z", "2026-12-04T00:00:00Z"
        hours = dict.fromkeys(
            ("window_h", "busy_h", "idle_h", "stopped_h", "planned_window_h"), "96"
        )
        return {
            "offer": offer,
            "start_utc": start,
            "end_utc": end,
            "start_local": start,
            "end_local": end,
            "zone": "UTC",
            **hours,
            "ends_utc": end,
            "deadline_utc": None
            if self.prices[offer].meets_deadline is None
            else "2026-12-03T00:00:00Z",
            "meets_deadline": self.prices[offer].meets_deadline,
            "definition": 1,
        }

    def decide(self) -> tuple[Decision, str]:
        """Go from the recorded passes to the decision and its text."""
        self.judge()
        self.tabulate()
        self.pay()
        return self.decide_again()

    def decide_again(self) -> tuple[Decision, str]:
        """Decide from the tables as they lie in the folder."""
        tables = ("attempts", "summary", "separation", "deliverables", "balance")
        files = {name: self.path(f"{name}.csv") for name in tables}
        files |= {
            "seal": self.path("protocol/seal.json"),
            "findings": self.path("separation.json"),
            "windows": self.path("window.csv"),
            "environments": sorted(self.folder.glob("offers/*/environment.json")),
        }
        decide_from_files(
            files,
            self.path("decision.json"),
            self.path("decision.md"),
            "recorded",
            self.planned or self.options(),
            0,
        )
        made = json.loads(self.path("decision.json").read_text(encoding="utf-8"))
        return Decision.model_validate(made), self.path("decision.md").read_text(encoding="utf-8")


def prediction_table(
    ids: Sequence[str | None], predicted: Sequence[str], scores: np.ndarray
) -> pa.Table:
    """Return a prediction table as the engine writes it."""
    lists = pa.FixedSizeListArray.from_arrays(
        pa.array(scores.astype(np.float32).ravel(), pa.float32()), len(NAMES)
    )
    columns = {
        "id": pa.array(ids, pa.string()),
        "predicted": pa.array(predicted, pa.string()),
        "scores": lists,
    }
    return pa.table(columns).replace_schema_metadata({"labels": json.dumps(NAMES)})


def maker(folder: Path) -> Callable[..., RecordedCampaign]:
    """Return a maker of campaigns in `folder`, with what tests need besides."""

    def make(**given: Any) -> RecordedCampaign:
        return RecordedCampaign(folder / "results", **given)

    make.price = Price
    make.table = prediction_table
    return make


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., RecordedCampaign]:
    """Return a maker of campaigns: `recorded(protocol=..., prices=...)`."""
    return maker(tmp_path)


@pytest.fixture(scope="module")
def recorded_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RecordedCampaign]:
    """The same for a campaign that the tests of a module share; take it with `copied`."""
    return maker(tmp_path_factory.mktemp("recorded"))
