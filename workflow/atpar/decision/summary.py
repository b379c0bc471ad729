"""The summary: one row an option, from the attempts alone [P19]."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from atpar.decision.attempts import by_attempt
from atpar.decision.cells import common, joined, number, parts, ratio, seconds
from atpar.decision.tables import DELIVERABLES, SUMMARY, TIMED
from atpar.engine.clocks import START_UP
from atpar.money.tables import write_table
from atpar.rows import is_true, read_rows

DEFINITION = 1
"""Version of how the summary's figures are derived."""

Row = Mapping[str, Any]

PEAKS = (
    ("peak_device_reserved_measured_bytes", "the allocator's pool on the device, measured span"),
    ("peak_host_rss_measured_bytes", "resident set of the process, measured span"),
    ("peak_host_rss_start_up_bytes", "resident set of the process, start-up"),
)
"""Counters for the peak, the most telling first: the pool is what must fit on the device."""


def summarise_passes(
    attempts: Path,
    qualities: Sequence[Path],
    summary: Path,
    deliverables: Path,
    options: Sequence[Mapping[str, Any]],
    expected: Sequence[str],
    metric: str,
) -> None:
    """Write summary.csv and deliverables.csv.

    `options` are {offer, variant, series, recovers, planned_passes}; `expected` the names of the
    deliverables that were declared before; `qualities` the verdicts of their parts.
    """
    rows = read_rows(attempts, ATTEMPT_COLUMNS)
    judged = by_attempt(qualities)
    write_table(summary, summary_rows(rows, options, metric, judged), SUMMARY)
    write_table(deliverables, deliverable_rows(rows, options, expected, judged), DELIVERABLES)


ATTEMPT_COLUMNS = ("attempt_id", "offer", "variant", "counted", "excluded", "status")


def summary_rows(
    attempts: Sequence[Row],
    options: Sequence[Mapping[str, Any]],
    metric: str,
    qualities: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return the rows of summary.csv, options in the order given."""
    return [
        _row(attempts, option, metric, _relatives(option, options), qualities) for option in options
    ]


def option_attempts(attempts: Iterable[Row], offer: str, variant: str) -> list[Row]:
    """Return the attempts of one option, in the order in which they were made."""
    return [row for row in attempts if (row["offer"], row["variant"]) == (offer, variant)]


def _relatives(option: Mapping[str, Any], options: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the variants whose attempts are part of this option's balance besides its own.

    Those that it recovers, one after the other, and those that recover it: a recovery is paid for
    by trying what failed, whichever of them is looked at [P18].
    """
    links = {
        (other["variant"], other["recovers"])
        for other in options
        if other["offer"] == option["offer"] and other["recovers"]
    }
    recovering = _chain(option["variant"], {(failed, variant) for variant, failed in links})
    return list(dict.fromkeys([*recovering, *_chain(option["variant"], links)]))


def _chain(variant: str, links: Collection[tuple[str, str]]) -> list[str]:
    """Return what a variant leads to over links (from, to), each once and without itself."""
    found = [variant]
    for one in found:
        found += sorted(to for start, to in links if start == one and to not in found)
    return found[1:]


def _row(
    attempts: Sequence[Row],
    option: Mapping[str, Any],
    metric: str,
    relatives: Sequence[str],
    qualities: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    offer, variant = option["offer"], option["variant"]
    own = option_attempts(attempts, offer, variant)
    counted = [row for row in own if is_true(row["counted"])]
    good = [row for row in counted if row["status"] == "ok"]
    failures = [row for row in own if row["status"] != "ok" and not is_true(row["excluded"])]
    spent = [row for name in relatives for row in option_attempts(attempts, offer, name)]
    return {
        "offer": offer,
        "variant": variant,
        "series": option["series"],
        "recovers": option["recovers"],
        **_durations(good, counted),
        **_phases(good),
        "successes": len(good),
        "failures": len(failures),
        "failed_passes": len(counted) - len(good),
        "failure_kinds": _kinds(failures),
        "excluded": sum(is_true(row["excluded"]) for row in own),
        "attempts": len(own),
        "accepted_passes": sum(is_true(row["corpus_accepted"]) for row in counted),
        "planned_passes": option["planned_passes"],
        "missing_passes": max(0, option["planned_passes"] - len(counted)),
        "sessions": len({row["session_id"] for row in counted}),
        **_work(good),
        **_spent([*own, *spent]),
        "seal_digest": common(counted, "seal_digest"),
        **_quality(good, metric),
        **_difference([qualities.get(row["attempt_id"], {}) for row in good]),
        "definition": DEFINITION,
    }


def _durations(good: Sequence[Row], counted: Sequence[Row]) -> dict[str, Any]:
    """Return the raw durations in measured order, and the figures of [P19]: no percentile."""
    times = [float(row["main_time_s"]) for row in good if row["main_time_s"]]
    if not times:
        reason = "no pass ended well" if counted else "no pass was measured"
        return {"durations_reason": reason}
    return {
        "durations_s": joined(seconds(time) for time in times),
        "median_s": seconds(median(times)),
        "min_s": seconds(min(times)),
        "max_s": seconds(max(times)),
        "spread_s": seconds(max(times) - min(times)),
    }


def _phases(good: Sequence[Row]) -> dict[str, Any]:
    starts = [
        sum(known)
        for row in good
        if (known := [float(row[f"{one}_s"]) for one in START_UP if row[f"{one}_s"]])
    ]
    return {
        **{f"{one}_median_s": _median(good, f"{one}_s") for one in TIMED},
        "startup_median_s": seconds(median(starts)) if starts else None,
    }


def _median(rows: Sequence[Row], name: str) -> str | None:
    known = [float(row[name]) for row in rows if row[name]]
    return seconds(median(known)) if known else None


def _kinds(failures: Sequence[Row]) -> str | None:
    kinds = Counter(f"{row['status']} in {row['phase'] or 'an unknown phase'}" for row in failures)
    return joined(f"{count} x {kind}" for kind, count in kinds.items())


def _work(good: Sequence[Row]) -> dict[str, Any]:
    """Return the work of a pass and its rates; the rates are of the median duration."""
    entries = common(good, "entries_completed")
    times = [float(row["main_time_s"]) for row in good if row["main_time_s"]]
    middle = median(times) if times else None
    real, padded = common(good, "tokens_real"), common(good, "tokens_padded")
    return {
        "entries": entries,
        "entries_truncated": common(good, "entries_truncated"),
        "entries_per_s": ratio(int(entries) / middle) if entries and middle else None,
        "tokens_per_s": ratio(int(real) / middle) if real and middle else None,
        "padding_ratio": ratio(int(padded) / int(real)) if padded and int(real or 0) else None,
        **_peak(good),
    }


def _peak(good: Sequence[Row]) -> dict[str, Any]:
    for name, meaning in PEAKS:
        known = [int(row[name]) for row in good if row[name]]
        if known:
            return {"peak_memory_bytes": max(known), "peak_memory_counter": meaning}
    return {"peak_memory_bytes": None, "peak_memory_counter": None}


def _spent(rows: Sequence[Row]) -> dict[str, Any]:
    known = [float(row["wall_time_s"]) for row in rows if row["wall_time_s"]]
    return {
        "attempts_wall_s": seconds(sum(known)) if known else None,
        "attempts_without_wall_time": len(rows) - len(known),
    }


def _quality(good: Sequence[Row], metric: str) -> dict[str, Any]:
    """Return the verdict over the counted passes that ended well: accepted only if each one is.

    A pass that failed has no quality; the rule on failed passes judges it.
    """
    values = [number(row["metric_value"]) for row in good if row["metric_value"]]
    verdict = "accepted"
    if any(row["corpus_accepted"] == "false" for row in good):
        verdict = "rejected"
    elif not good or not all(is_true(row["corpus_accepted"]) for row in good):
        verdict = "not judged"
    failed = dict.fromkeys(check for row in good for check in parts(row["failed_checks"]))
    return {
        "metric": metric,
        "metric_value": repr(median(values)) if values else None,
        "metric_reason": None if values else "no counted pass has a value",
        "quality_verdict": verdict,
        "failed_checks": joined(failed),
    }


def _difference(qualities: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the difference to the reference pass, of the pass that changed most labels."""
    known = [one for one in qualities if one.get("difference") is not None]
    if not known:
        return {"metric_difference_reason": "no counted pass was compared with a reference pass"}
    worst = max(known, key=lambda one: one["changed_labels"])
    interval = worst["interval"]
    return {
        "metric_difference": repr(worst["difference"]),
        "metric_difference_low": None if interval["low"] is None else repr(interval["low"]),
        "metric_difference_high": None if interval["high"] is None else repr(interval["high"]),
        "metric_difference_reason": interval.get("reason"),
        "changed_labels": worst["changed_labels"],
    }


def deliverable_rows(
    attempts: Sequence[Row],
    options: Sequence[Mapping[str, Any]],
    expected: Sequence[str],
    qualities: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Return one row an option and expected deliverable, with the pass that delivered it [P33]."""
    return [
        _deliverable(
            option_attempts(attempts, option["offer"], option["variant"]), option, name, qualities
        )
        for option in options
        for name in expected
    ]


def _deliverable(
    attempts: Sequence[Row],
    option: Mapping[str, Any],
    name: str,
    qualities: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    row = {
        "offer": option["offer"],
        "variant": option["variant"],
        "deliverable": name,
        "definition": DEFINITION,
    }
    reasons: list[str] = []
    for attempt in attempts:
        if not is_true(attempt["counted"]):
            continue
        found = _part(qualities.get(attempt["attempt_id"]), name)
        if found.get("verdict") == "accepted":
            seal = attempt["seal_digest"]
            return {
                **row,
                "accepted": True,
                "entries": found.get("entries"),
                "attempt_id": attempt["attempt_id"],
                "seal_digest": seal,
            }
        reasons += found.get("reasons") or [f"attempt {attempt['attempt_id']} wasn't evaluated"]
    reason = joined(dict.fromkeys(reasons), by=" | ") or "no pass was measured"
    seal = common(attempts, "seal_digest")
    return {**row, "accepted": False, "reason": reason, "seal_digest": seal}


def _part(quality: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """Return the verdict on one deliverable; a pass that failed its checks delivers none."""
    if quality is None:
        return {}
    for one in quality["deliverables"]:
        if one["deliverable"] == name:
            return one
    return {"verdict": "rejected", "reasons": quality["reasons"]}
