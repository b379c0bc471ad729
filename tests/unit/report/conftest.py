"""A small measured campaign as the workflow writes it: two offers, three variants, trouble."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atpar.calendar.outlook_tables import CURVES, FORECAST
from atpar.calendar.plan import plan_calendar
from atpar.calendar.table import CALENDAR, WINDOWS
from atpar.canonical import digest, file_digest
from atpar.config.protocol import Protocol, Tolerance
from atpar.decision.attempts import tabulate_attempts
from atpar.decision.decide import decide_from_files
from atpar.decision.separate import separate_options
from atpar.decision.summary import summarise_passes
from atpar.journal import journal
from atpar.money.keep import keep_ledger
from atpar.money.schemas import BALANCE, LEDGER, PACKAGES
from atpar.money.tables import write_table
from atpar.report.charts import blank_svg
from atpar.report.sections import ahead, measured, planned

HOSTILE = "<script>alert('x')</script>"


def write_json_file(path: Path, value: object) -> None:
    """Write a JSON document, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


@dataclass(frozen=True)
class Evidence:
    """What the evidence bag is made of."""

    folder: Path
    inputs: dict[str, list[Path]]
    steps: dict

    @property
    def files(self) -> list[Path]:
        """The files of the campaign that a bag keeps."""
        kept = ("*.csv", "*.json", "decision.md", "report.html", "corpus/*.json", "model/*",
                "protocol/*", "offers/*/*", "passes/*/*/*", "predictions/*/*/*", "checks/*/*",
                "quality/*/*")  # fmt: skip
        return sorted(path for pattern in kept for path in self.folder.glob(pattern))


DURATIONS = {
    ("one-thread", "batch-1"): [18.8, 18.9, 19.3, 18.7, 18.8],
    ("one-thread", "batch-8"): [27.0, 26.8, 27.4, 27.1, None],
    ("one-thread", "grouped-8"): [9.7, 9.8, 9.6, 9.9, 9.7],
    ("two-threads", "batch-1"): [12.1, 12.4, 12.0, 12.2, 12.3],
    ("two-threads", "batch-8"): [17.5, 17.1, 17.9, 17.2, 17.4],
    ("two-threads", "grouped-8"): [6.5, 6.6, 6.4, 6.5, 6.7],
}


OPTIONS = [
    {"offer": offer, "variant": variant, "series": "first", "recovers": None, "planned_passes": 5}
    for offer, variant in DURATIONS
]

PROTOCOL = Protocol(
    question="Which setting meets the minimum at the lowest budget?",
    tolerance=Tolerance(reference="batch-1"),
    minimum_span_s=5.0,
).model_dump(mode="json")

SEALED = {
    "protocol": PROTOCOL,
    "evaluation_digest": "cd" * 32,
    "reference_digest": "ef" * 32,
}

DIGESTS = {
    "seal_digest": digest(SEALED),
    "evaluation_digest": "cd" * 32,
    "corpus_digest": "01" * 32,
    "model_digest": "23" * 32,
    "tokenizer_digest": "67" * 32,
    "environment_digest": "45" * 32,
}


def pass_record(offer: str, variant: str, repetition: int, rank: int, main: float | None) -> dict:
    """Return the record of one attempt; without a main time it ran out of memory."""
    failed = main is None
    phases = dict.fromkeys(
        ("start", "import", "load", "warm_up", "read", "tokenize", "inference", "materialise"), 0.5
    )
    return {
        "definition": 1,
        "campaign": "demo",
        "offer": offer,
        "variant": variant,
        "repetition": repetition,
        "attempt_id": f"{offer}/{variant}/{repetition}/1",
        "attempt_number": 1,
        "status": "out_of_memory" if failed else "ok",
        "phase": "measured" if failed else "done",
        "reason": "the device had no memory left" if failed else None,
        "exit_code": 1 if failed else 0,
        "signal": None,
        **DIGESTS,
        "variant_settings": {"batch_size": 8, "precision": "fp32"},
        "offer_settings": {"offer": offer},
        "software": {"torch": "2.13.0"},
        "planned_rank": rank,
        "position": rank % 3,
        "round": repetition,
        "session_id": "s1",
        "started_utc": f"2026-11-30T09:{rank:02d}:00+00:00",
        "finished_utc": f"2026-11-30T09:{rank:02d}:40+00:00",
        "phases_s": {**phases, "compile": None, "transfer": None},
        "phase_reasons": {"compile": "nothing is compiled", "transfer": "a CPU has no transfers"},
        "main_time_s": main,
        "main_time_reason": "it ended before the corpus was done" if failed else None,
        "wall_time_s": 12.5 if failed else main + 4,
        "entries_expected": 100,
        "entries_completed": 71 if failed else 100,
        "tokens_real": 5100,
        "tokens_padded": 6000,
        "entries_truncated": 0,
        "memory": {"peak_host_rss_measured_bytes": 734003200},
        "memory_reasons": {"peak_device_allocated_measured_bytes": "no GPU on this machine"},
        "device": {"kind": "cpu", "name": "Ordinary CPU", "uuid": None},
        "predictions_path": f"predictions/{offer}/{variant}/{repetition}.parquet",
        "notes": [HOSTILE] if failed else [],
    }


def pass_records() -> list[dict]:
    """Return the records of all passes in the rotated order, offer by offer."""
    found = []
    for offer in ("one-thread", "two-threads"):
        variants = [variant for own, variant in DURATIONS if own == offer]
        for repetition in range(1, 6):
            turn = (repetition - 1) % 3
            for variant in variants[turn:] + variants[:turn]:
                main = DURATIONS[offer, variant][repetition - 1]
                found.append(pass_record(offer, variant, repetition, len(found), main))
    return found


def write_passes(folder: Path) -> None:
    """Write journals, records and predictions of all passes."""
    for record in pass_records():
        place = f"{record['offer']}/{record['variant']}/{record['repetition']}"
        path = folder / f"predictions/{place}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        count = 0 if record["main_time_s"] is None else 3
        pq.write_table(pa.table({"id": [f"id-{index}" for index in range(count)]}), path)
        record["predictions_digest"] = file_digest(path)
        name = {"attempt_id": record["attempt_id"], "record": record}
        journal_path = folder / f"journal/{record['offer']}.jsonl"
        journal.append(journal_path, {"event": "started", **name})
        journal.append(journal_path, {"event": "finished", **name})
        write_json_file(folder / f"passes/{place}.json", record)
    texts = pa.table({"id": ["id-0", "id-1"], "text": ["private text", "dédicace"]})
    (folder / "corpus").mkdir(exist_ok=True)
    pq.write_table(texts, folder / "corpus/evaluation.parquet")
    pq.write_table(pa.table({"id": ["id-0"], "label": ["a"]}), folder / "corpus/reference.parquet")


SEPARATION = {name: PROTOCOL[name] for name in ("separation", "control")}

EXCLUSIONS = (
    "attempt_id\tcause\tevidence\n"
    "one-thread/batch-8/2/1\tanother process was on the device\tlog of the node\n"
)


def write_measurements(folder: Path) -> None:
    """Write attempts.csv, summary.csv, separation.csv and deliverables.csv as the stages do."""
    (folder / "exclusions.tsv").write_text(EXCLUSIONS, encoding="utf-8")
    qualities = sorted(folder.glob("quality/*/*.json"))
    tabulate_attempts(
        folder / "journal",
        sorted(folder.glob("passes/*/*/*.json")),
        sorted(folder.glob("checks/*/*.json")),
        qualities,
        folder / "exclusions.tsv",
        "accuracy",
        folder / "attempts.csv",
        {variant: "first" for _, variant in DURATIONS},
    )
    summarise_passes(
        folder / "attempts.csv",
        qualities,
        folder / "summary.csv",
        folder / "deliverables.csv",
        OPTIONS,
        ["corpus"],
        "accuracy",
    )
    separate_options(
        folder / "attempts.csv",
        folder / "separation.csv",
        folder / "separation.json",
        list(DURATIONS),
        SEPARATION,
    )


def balance_rows() -> list[dict]:
    rows = []
    for offer, variant in DURATIONS:
        failed = (offer, variant) == ("one-thread", "batch-8")
        rows.append(
            {
                "offer": offer,
                "variant": variant,
                "deliverables_expected": 1,
                "deliverables_accepted": 0 if failed else 1,
                "engaged_amount": "220.00",
                "currency": "USD",
                "cost_per_deliverable": None if failed else "220.00",
                "cost_per_deliverable_reason": "no deliverable was accepted" if failed else None,
                "cost_per_million_entries": None if failed else "2200000.00",
                "billing": "package",
                "package_term_days": 7,
                "window_h": 96,
                "package_h": 168,
                "unused_h": 72,
                "covers_window": True,
                "definition": 1,
            }
        )
    return rows


def quality_document(offer: str, variant: str) -> dict:
    """Return quality and verdicts as the quality room writes them."""
    passes = []
    for record in pass_records():
        if (record["offer"], record["variant"]) != (offer, variant):
            continue
        name = {"repetition": record["repetition"], "attempt_id": record["attempt_id"]}
        passes.append({**name, **(UNEVALUATED if record["main_time_s"] is None else EVALUATED)})
    rejected = any(one["verdict"] == "rejected" for one in passes)
    verdict = "rejected" if rejected else "accepted"
    return {
        "definition": 1,
        "metric": "accuracy",
        "reference_attempt_id": f"{offer}/batch-1/1/1",
        "passes": passes,
        "option": {"verdict": verdict, "failed": ["status"] if rejected else []},
    }


EVALUATED = {
    "metrics": {"accuracy": 0.91, "macro_f1": None},
    "undefined": {"macro_f1": "a class is absent"},
    "subgroups": [
        {
            "column": "bucket",
            "value": name,
            "entries": size,
            "metric": "accuracy",
            "value_of_metric": 0.9,
            "undefined": None,
            "judged": size >= 20,
            "verdict": "accepted" if size >= 20 else "insufficient",
            "reason": None if size >= 20 else "10 entries, below the 20 needed",
        }
        for name, size in (("short", 60), ("medium", 30), ("long", 10))
    ],
    "deliverables": [{"deliverable": "corpus", "verdict": "accepted", "failed": [], "reasons": []}],
    "changed_labels": 1,
    "changed_ids": ["id-7"],
    "largest_score_difference": 0.0123,
    "interval": {"metric": "accuracy", "level": 0.95, "low": -0.01, "high": 0.005},
    "verdict": "accepted",
    "failed": [],
    "reasons": [],
}

UNEVALUATED = {
    "metrics": {},
    "undefined": {},
    "subgroups": [],
    "deliverables": [],
    "changed_labels": None,
    "changed_ids": [],
    "largest_score_difference": None,
    "interval": None,
    "verdict": "rejected",
    "failed": ["status"],
    "reasons": ["the pass ended as out_of_memory"],
}


def check_document(offer: str, variant: str) -> dict:
    """Return the checks of identifiers as the quality room writes them."""
    passes = []
    for record in pass_records():
        if (record["offer"], record["variant"]) != (offer, variant):
            continue
        failed = record["main_time_s"] is None
        passes.append(
            {
                "repetition": record["repetition"],
                "attempt_id": record["attempt_id"],
                "expected_ids": 100,
                "observed_ids": 0 if failed else 100,
                "ids_match": not failed,
                "duplicates": 0,
                "missing": 100 if failed else 0,
                "foreign": 0,
                "passed": not failed,
                "failed": ["status"] if failed else [],
                "problems": ["the pass ended as out_of_memory"] if failed else [],
            }
        )
    return {"definition": 1, "passes": passes}


def write_money(folder: Path) -> None:
    """Write ledger, balance, packages, window and calendar under their schemas."""
    write_table(folder / "balance.csv", balance_rows(), BALANCE)
    write_table(
        folder / "ledger.csv",
        [
            {"offer": "one-thread", "item": "rental: package", "quantity": 2, "unit": "lot",
             "unit_price": "110.00", "amount": "220.00", "currency": "USD",
             "grounds": "7-day package", "source": "tariff of 2026-09-24", "definition": 1},
            {"offer": "two-threads", "item": "transfer", "unit": "GB", "currency": "USD",
             "amount_reason": "only one-thread states it", "definition": 1},
        ],
        LEDGER,
    )  # fmt: skip
    write_table(
        folder / "packages.csv",
        [
            {"offer": "one-thread", "kind": "engaged", "billing": "package", "term_days": 7,
             "amount": "220.00", "currency": "USD", "unused_h": 72,
             "text": "2 lots for 7 days", "definition": 1},
        ],
        PACKAGES,
    )  # fmt: skip
    write_outlook(folder)


def write_outlook(folder: Path) -> None:
    """Write what looks ahead: a forecast, two curves that cross, and the loads that repay."""
    figures = {"padded_tokens": 60_000_000, "work_h": "19.000000", "work_h_low": "18.000000",
               "work_h_high": "20.500000", "rental_h": "21.000000", "rental_h_low": "20.000000",
               "rental_h_high": "22.500000"}  # fmt: skip
    common = {"label": "forecast", "currency": "USD", "definition": 1}
    write_table(
        folder / "forecast.csv",
        [
            {"offer": "two-threads", "variant": "grouped-8", "entries": 1_000_000, **figures,
             "method": "entries and padded tokens", "extrapolates": False, "billing": "package",
             "rented_as": "7-day package", "package_term_days": 7, "periods": 1,
             "amount": "220.00", "amount_low": "220.00", "amount_high": "220.00",
             "cost_per_million_entries": "220.00", "cost_per_million_entries_low": "220.00",
             "cost_per_million_entries_high": "220.00", **common},
        ],
        FORECAST,
    )  # fmt: skip
    write_table(
        folder / "breakeven.csv",
        [
            {"offer": "two-threads", "variant": "grouped-8", "billing": billing,
             "entries": entries, "amount": f"{amount}.00", "amount_low": f"{amount}.00",
             "amount_high": f"{amount + 5}.00", **common}
            for billing, amounts in (("hourly", (10, 100, 1000)), ("package", (220, 220, 220)))
            for entries, amount in zip((1000, 1_000_000, 10**9), amounts, strict=True)
        ],
        CURVES,
    )  # fmt: skip
    stretch = {"offer": "two-threads", "variant": "grouped-8"}
    outlook = {
        "definition": 1,
        "label": "forecast",
        "load": {"entries": 1_000_000, "mean_tokens": 52.5, "longest_tokens": 512},
        "cheapest_by_load": [
            {**stretch, "billing": "hourly", "from_entries": 1000, "to_entries": 2_345_678,
             "amount_at_from": "10.00", "certain": False},
            {**stretch, "billing": "package", "from_entries": 2_345_679, "to_entries": 10**9,
             "amount_at_from": "220.00", "certain": True},
        ],
        "deciding": {
            "amount": "220.00",
            "currency": "USD",
            "text": "The campaign itself engages 220.00 USD, every rental once.",
            "repaid": [{"text": "4,000,000 entries repay the campaign (forecast)."}],
        },
    }  # fmt: skip
    write_json_file(folder / "outlook.json", outlook)
    write_table(
        folder / "window.csv",
        [
            {"offer": offer, "start_utc": "2026-12-07T08:00:00Z",
             "end_utc": "2026-12-07T13:00:00Z", "start_local": "Mon 2026-12-07 09:00 CET",
             "end_local": "Mon 2026-12-07 14:00 CET", "zone": "Europe/Paris", "window_h": 5,
             "busy_h": 5, "idle_h": 0, "stopped_h": 0, "planned_window_h": 6,
             "ends_utc": "2026-12-07T13:00:00Z", "definition": 1}
            for offer in ("one-thread", "two-threads")
        ],
        WINDOWS,
    )  # fmt: skip
    write_table(
        folder / "calendar.csv",
        [
            {"offer": "one-thread", "task": task, "kind": kind, "pass": name, "duration_h": hours,
             "basis": basis, "start_utc": f"2026-12-07T{start:02d}:00:00Z",
             "end_utc": f"2026-12-07T{start + hours:02d}:00:00Z",
             "start_local": f"Mon 2026-12-07 {start + 1:02d}:00 CET",
             "end_local": f"Mon 2026-12-07 {start + hours + 1:02d}:00 CET",
             "zone": "Europe/Paris", "planned_duration_h": hours,
             "planned_start_utc": f"2026-12-07T{start:02d}:00:00Z",
             "planned_end_utc": f"2026-12-07T{start + hours:02d}:00:00Z",
             "rental": "kept", "kept_rental": True, "definition": 1}
            for task, kind, name, hours, basis, start in (
                ("preparation", "work", None, 2, "assumed", 8),
                ("passes", "passes", "one-thread/batch-1/1", 1, "measured", 10),
                ("passes", "passes", "one-thread/batch-8/1", 1, "measured", 11),
                ("export", "work", None, 1, "forecast", 12),
            )
        ],
        CALENDAR,
    )  # fmt: skip


def write_campaign(folder: Path) -> Path:
    """Write the whole campaign and return its folder."""
    folder.mkdir(parents=True)
    for offer, variant in DURATIONS:
        write_json_file(
            folder / f"quality/{offer}/{variant}.json", quality_document(offer, variant)
        )
        write_json_file(folder / f"checks/{offer}/{variant}.json", check_document(offer, variant))
    write_passes(folder)
    write_measurements(folder)
    write_money(folder)
    write_json_file(
        folder / "protocol/seal.json",
        {
            "definition": 1,
            "digest": digest(SEALED),
            "sealed_at_utc": "2026-11-30T08:59:00+00:00",
            "sealed": SEALED,
        },
    )
    write_json_file(
        folder / "corpus/fingerprint.json",
        {"corpus_digest": "01" * 32, "evaluation_digest": "cd" * 32, "reference_digest": "ef" * 32,
         "sources": [{"path": "corpus.csv", "sha256": "89" * 32, "bytes": 5, "rows": 4719}],
          "rows_in": 4719, "rows_out": 4719, "seed": 0,
         "entries": {"evaluation": 100, "tuning": 4619}, "buckets": {"short": 60, "long": 10},
         "tokens": {"mean": 51, "max": 526}, "rare_classes": []},
    )  # fmt: skip
    write_json_file(
        folder / "model/fingerprint.json",
        {
            "source": "minilm",
            "revision": None,
            "model_digest": "23" * 32,
            "parameters": 22713600,
            "tokenizer_digest": "67" * 32,
            "files": [{"path": "model.safetensors", "sha256": "f"}],
        },
    )
    for offer in ("one-thread", "two-threads"):
        write_json_file(
            folder / f"offers/{offer}/environment.json",
            {
                "definition": 1,
                "offer": offer,
                "digest": "45" * 32,
                "device": {"kind": "cpu", "name": "Ordinary CPU", "uuid": None, "count": 1},
                "driver": None,
                "memory_bytes": 16853843968,
                "software": {"torch": "2.13.0"},
                "reasons": {"driver": "no GPU was found", "device.uuid": "a CPU has none"},
            },
        )
    write_decision(folder)
    return folder


def write_decision(folder: Path) -> None:
    """Write decision.json and decision.md from the folder's tables."""
    decide_from_files(
        {
            "seal": folder / "protocol/seal.json",
            "attempts": folder / "attempts.csv",
            "summary": folder / "summary.csv",
            "separation": folder / "separation.csv",
            "findings": folder / "separation.json",
            "deliverables": folder / "deliverables.csv",
            "balance": folder / "balance.csv",
            "windows": folder / "window.csv",
            "environments": sorted(folder.glob("offers/*/environment.json")),
        },
        folder / "decision.json",
        folder / "decision.md",
        campaign="demo",
        planned=[list(option) for option in DURATIONS],
        repetitions_added=0,
    )


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder `demo` of a measured campaign that no test changes."""
    return write_campaign(tmp_path_factory.mktemp("results") / "demo")


@pytest.fixture
def campaign(untouched: Path, tmp_path: Path) -> Path:
    """Return a copy of the measured campaign that a test may change."""
    return Path(shutil.copytree(untouched, tmp_path / "results" / "demo"))


ROOT = Path(__file__).resolve().parents[3]

INPUTS = {
    "calendar": [ROOT / "config/demo/calendar.tsv"],
    "expenses": [ROOT / "config/demo/expenses.tsv"],
    "tariffs": [ROOT / "resources/tariffs/illustrative.csv"],
}

STEPS = {
    "tabulate_attempts": {
        "metric": "accuracy",
        "series": {variant: "first" for _, variant in DURATIONS},
    },
    "summarise_passes": {"options": OPTIONS, "expected": ["corpus"], "metric": "accuracy"},
    "separate_options": {"options": list(DURATIONS), "protocol": SEPARATION},
    "plan_calendar": {
        "offers": ["one-thread", "two-threads"],
        "passes": [
            [record["offer"], record["variant"], record["repetition"]] for record in pass_records()
        ],
        "zone": "Europe/Paris",
        "deadline": None,
    },
    "keep_ledger": {
        "campaign": "demo",
        "offers": [
            {"offer": name, "provider": "this-machine", "gpu": name, "billing": "hourly"}
            for name in ("one-thread", "two-threads")
        ],
        "expected": 1,
        "currency": "USD",
        "rates": {},
        "price_age_days": 90,
    },
    "decide": {
        "campaign": "demo",
        "planned": [list(option) for option in DURATIONS],
        "repetitions_added": 0,
    },
}


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Return a campaign whose every table the stages computed from its attempts."""
    folder = write_campaign(tmp_path_factory.mktemp("proven") / "demo")
    plan_calendar(
        INPUTS["calendar"][0],
        folder / "attempts.csv",
        folder / "calendar.csv",
        folder / "window.csv",
        **STEPS["plan_calendar"],
    )
    keep_ledger(
        folder / "summary.csv",
        folder / "deliverables.csv",
        folder / "attempts.csv",
        folder / "window.csv",
        INPUTS["tariffs"],
        INPUTS["expenses"][0],
        folder / "ledger.csv",
        folder / "balance.csv",
        folder / "packages.csv",
        focus=folder / "focus.csv",
        **STEPS["keep_ledger"],
    )
    write_decision(folder)
    (folder / "report.html").write_text("<!DOCTYPE html><title>report</title>", encoding="utf-8")
    return Evidence(folder, {**INPUTS, "exclusions": [folder / "exclusions.tsv"]}, STEPS)


@pytest.fixture
def quick_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the charts blank, for tests that ask about the page around them."""
    for section in (ahead, measured, planned):
        monkeypatch.setattr(section, "to_svg", lambda _, title: blank_svg(title, "left out"))
