"""A small measured campaign as the workflow writes it: two offers, three variants, trouble."""

import csv
import json
import shutil
from pathlib import Path

import pytest

HOSTILE = "<script>alert('x')</script>"


def write_csv(path: Path, rows: list[dict]) -> None:
    """Write rows as the stages do: `\\n` line ends, empty cells for what is missing."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_json_file(path: Path, value: object) -> None:
    """Write a JSON document, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


DURATIONS = {
    ("one-thread", "batch-1"): [18.8, 18.9, 19.3, 18.7, 18.8],
    ("one-thread", "batch-8"): [27.0, 26.8, 27.4, 27.1, None],
    ("one-thread", "grouped-8"): [9.7, 9.8, 9.6, 9.9, 9.7],
    ("two-threads", "batch-1"): [12.1, 12.4, 12.0, 12.2, 12.3],
    ("two-threads", "batch-8"): [17.5, 17.1, 17.9, 17.2, 17.4],
    ("two-threads", "grouped-8"): [6.5, 6.6, 6.4, 6.5, 6.7],
}


def attempt_row(offer: str, variant: str, repetition: int, place: int, main: float | None) -> dict:
    failed = main is None
    return {
        "attempt_id": f"{offer}/{variant}/{repetition}/1",
        "campaign": "demo",
        "offer": offer,
        "variant": variant,
        "series": "first",
        "repetition": repetition,
        "attempt_number": 1,
        "counted": True,
        "excluded": False,
        "exclusion_cause": "",
        "planned_rank": place,
        "round": repetition - 1,
        "position": place % 3,
        "session_id": "s1",
        "status": "out_of_memory" if failed else "ok",
        "phase": "measured" if failed else "done",
        "reason": "the device had no memory left" if failed else "",
        "exit_code": 1 if failed else 0,
        "signal": "",
        "started_utc": f"2026-11-30T09:{place:02d}:00+00:00",
        "finished_utc": f"2026-11-30T09:{place:02d}:40+00:00",
        "main_time_s": "" if failed else main,
        "main_time_reason": "it ended before the corpus was done" if failed else "",
        "wall_time_s": 12.5 if failed else main + 4,
        "entries_completed": 71 if failed else 100,
        "ids_match": "" if failed else True,
        "metric": "accuracy",
        "metric_value": "" if failed else 0.91,
        "corpus_accepted": not failed,
        "failed_checks": "coverage" if failed else "",
        "peak_rss_bytes": 734003200,
        "peak_allocated_bytes": "",
        "peak_allocated_reason": "no GPU on this machine",
        "notes": HOSTILE if failed else "",
    }


def attempt_rows() -> list[dict]:
    rows = []
    for offer in ("one-thread", "two-threads"):
        place = 0
        variants = [variant for own, variant in DURATIONS if own == offer]
        for repetition in range(1, 6):
            turned = variants[(repetition - 1) % 3 :] + variants[: (repetition - 1) % 3]
            for variant in turned:
                place += 1
                main = DURATIONS[offer, variant][repetition - 1]
                rows.append(attempt_row(offer, variant, repetition, place, main))
    excluded = rows[3]
    excluded.update(excluded=True, exclusion_cause="another process was on the device")
    return rows


def summary_rows() -> list[dict]:
    rows = []
    for (offer, variant), times in DURATIONS.items():
        known = sorted(time for time in times if time is not None)
        rows.append(
            {
                "offer": offer,
                "variant": variant,
                "series": "first",
                "durations_s": ";".join("" if time is None else str(time) for time in times),
                "median_s": known[len(known) // 2],
                "min_s": known[0],
                "max_s": known[-1],
                "spread_s": round(known[-1] - known[0], 6),
                "successes": len(known),
                "failures": len(times) - len(known),
                "excluded": 0,
                "accepted_passes": len(known),
                "planned_passes": 5,
                "entries": 100,
                "entries_per_s": 100 / known[len(known) // 2],
                "tokens_per_s": 5100 / known[len(known) // 2],
                "peak_memory_bytes": 734003200,
                "startup_median_s": 3.91,
                "attempts_wall_s": sum(known) + 20,
                "metric": "accuracy",
                "metric_value": 0.91,
                "quality_verdict": "accepted",
                "failed_checks": "",
                "entries_truncated": 0,
                "definition": 1,
            }
        )
    return rows


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
                "engaged_reason": "",
                "cost_per_deliverable": "" if failed else "220.00",
                "cost_per_deliverable_reason": "no deliverable was accepted" if failed else "",
                "cost_per_million_entries": "" if failed else "2200000.00",
                "billing": "package",
                "package_term_days": 7,
                "window_h": 96,
                "package_h": 168,
                "unused_h": 72,
                "covers_window": True,
                "shared_with": "",
                "definition": 1,
            }
        )
    return rows


def quality_document(variant: str, offer: str) -> dict:
    reference = variant == "batch-1"
    return {
        "passes": [
            {
                "repetition": repetition,
                "attempt_id": f"{offer}/{variant}/{repetition}/1",
                "metrics": {"accuracy": 0.91, "macro_f1": None},
                "undefined": {"macro_f1": "a class is absent"},
                "subgroups": [
                    {
                        "column": "bucket",
                        "value": name,
                        "entries": size,
                        "metric": "accuracy",
                        "value_of_metric": 0.9,
                        "judged": size >= 20,
                        "verdict": "accepted" if size >= 20 else "not judged",
                        "reason": None if size >= 20 else "10 entries, fewer than 20",
                    }
                    for name, size in (("short", 60), ("medium", 30), ("long", 10))
                ],
                "changed_labels": None if reference else 1,
                "changed_ids": [] if reference else ["id-7"],
                "largest_score_difference": None if reference else 0.0123,
                "interval": None if reference else {"low": -0.01, "high": 0.005},
                "verdict": "accepted",
                "failed": [],
                "reasons": [],
            }
            for repetition in (1, 2)
        ],
        "option": {"verdict": "accepted", "failed": []},
    }


def check_document() -> dict:
    return {
        "passes": [
            {
                "repetition": 1,
                "attempt_id": "x",
                "expected_ids": 100,
                "observed_ids": 99,
                "duplicates": 0,
                "missing": 1,
                "foreign": 0,
                "passed": False,
                "problems": ["1 id is missing"],
            }
        ]
    }


def write_campaign(folder: Path) -> Path:
    """Write the whole campaign and return its folder."""
    folder.mkdir(parents=True)
    write_csv(folder / "attempts.csv", attempt_rows())
    write_csv(folder / "summary.csv", summary_rows())
    write_csv(folder / "balance.csv", balance_rows())
    write_csv(
        folder / "separation.csv",
        [
            {
                "offer": "two-threads",
                "variant": "grouped-8",
                "group": 1,
                "gap_s": "",
                "gap_s_reason": "quickest",
            },
            {
                "offer": "one-thread",
                "variant": "grouped-8",
                "group": 2,
                "gap_s": 3.2,
                "gap_s_reason": "",
            },
        ],
    )
    write_csv(
        folder / "ledger.csv",
        [
            {"offer": "one-thread", "variant": "", "item": "rental", "quantity": 2, "unit": "lot",
             "unit_price": "110.00", "amount": "220.00", "currency": "USD", "amount_reason": "",
             "grounds": "7-day package", "source": "tariff of 2026-09-24", "definition": 1},
            {"offer": "two-threads", "variant": "", "item": "transfer", "quantity": "",
             "unit": "GB", "unit_price": "", "amount": "", "currency": "USD",
             "amount_reason": "only one-thread states it", "grounds": "", "source": "",
             "definition": 1},
        ],
    )  # fmt: skip
    write_csv(
        folder / "calendar.csv",
        [
            {"offer": "one-thread", "task": task, "pass": name, "duration_h": hours, "basis": basis,
             "start_utc": f"2026-12-07T{start:02d}:00:00+00:00",
             "end_utc": f"2026-12-07T{start + hours:02d}:00:00+00:00",
             "start_local": f"Mon 2026-12-07 {start + 1:02d}:00 CET",
             "end_local": f"Mon 2026-12-07 {start + hours + 1:02d}:00 CET",
             "zone": "Europe/Paris", "kept_rental": True}
            for task, name, hours, basis, start in (
                ("preparation", "", 2, "assumed", 8),
                ("passes", "one-thread/batch-1/1", 1, "measured", 10),
                ("passes", "one-thread/batch-8/1", 1, "measured", 11),
                ("export", "", 1, "forecast", 12),
            )
        ],
    )  # fmt: skip
    (folder / "decision.md").write_text(
        "# Decision\n\nThe setting is **two-threads / grouped-8**: it handles every text.\n\n"
        f"- Not covered: latency.\n- {HOSTILE}\n\n![x](http://example.org/x.png)\n",
        encoding="utf-8",
    )
    write_json_file(folder / "decision.json", {"definition": 1})
    write_json_file(
        folder / "protocol/seal.json",
        {
            "definition": 1,
            "digest": "ab" * 32,
            "sealed_at_utc": "2026-11-30T08:59:00+00:00",
            "sealed": {
                "protocol": {"scenario": "offline", "metric": "accuracy", "repetitions": 5,
                             "question": "Which setting meets the minimum at the lowest budget?"},
                "evaluation_digest": "cd" * 32,
                "reference_digest": "ef" * 32,
            },
        },
    )  # fmt: skip
    write_json_file(
        folder / "corpus/fingerprint.json",
        {"corpus_digest": "01" * 32, "rows_in": 4719, "rows_out": 4719, "seed": 0,
         "entries": {"evaluation": 100, "tuning": 4619}, "buckets": {"short": 60, "long": 10},
         "tokens": {"mean": 51, "max": 526}, "rare_classes": []},
    )  # fmt: skip
    write_json_file(
        folder / "model/fingerprint.json",
        {"source": "minilm", "revision": None, "model_digest": "23" * 32, "parameters": 22713600},
    )
    for offer, variant in DURATIONS:
        write_json_file(
            folder / f"quality/{offer}/{variant}.json", quality_document(variant, offer)
        )
        write_json_file(folder / f"checks/{offer}/{variant}.json", check_document())
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
    return folder


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder `demo` of a measured campaign that no test changes."""
    return write_campaign(tmp_path_factory.mktemp("results") / "demo")


@pytest.fixture
def campaign(untouched: Path, tmp_path: Path) -> Path:
    """Return a copy of the measured campaign that a test may change."""
    return Path(shutil.copytree(untouched, tmp_path / "results" / "demo"))
