"""The stage: separation.csv and separation.json, from the attempts and the sealed rule [P21]."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from atpar.canonical import write_json
from atpar.decision.cells import common, ratio, seconds
from atpar.decision.drift import by_offer, order_findings, sessions
from atpar.decision.separation import DEFINITION, Comparison, Rule, groups, pairs, ranked
from atpar.decision.statistics import (
    permutation_test,
    position_effect,
    ratio_interval,
    time_of_day,
    trend,
)
from atpar.decision.tables import SEPARATION
from atpar.money.tables import write_table
from atpar.rows import is_true, read_rows

Key = tuple[str, str]
Compared = tuple[Key, Key, Comparison]
Row = Mapping[str, Any]

RULE_FIELDS = ("rule", "level", "gap_factor")

NEEDED = (
    "attempt_id",
    "offer",
    "variant",
    "counted",
    "status",
    "main_time_s",
    "planned_rank",
    "position",
    "session_id",
    "started_utc",
    "finished_utc",
    "seal_digest",
)


def separate_options(
    attempts: Path,
    table: Path,
    findings: Path,
    options: Sequence[Key],
    protocol: Mapping[str, Any],
    series: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write separation.csv (one row a pair) and separation.json (groups, drift, control).

    `options` are the (offer, variant) compared; `protocol` has `separation` and `control`; `series`
    are those with a `problem`, by `name`: what keeps a difference within them from having one
    cause [P10].
    """
    rows = [
        row
        for row in read_rows(attempts, NEEDED)
        if is_true(row["counted"])
        and row["status"] == "ok"
        and (row["offer"], row["variant"]) in set(map(tuple, options))
    ]
    durations = durations_of(rows, options)
    rule = Rule(**{name: protocol["separation"][name] for name in RULE_FIELDS})
    compared = list(pairs(durations, rule))
    seal = common(rows, "seal_digest")
    lines = pair_rows(durations, compared, protocol["control"])
    write_table(table, [{**line, "seal_digest": seal} for line in lines], SEPARATION)
    found = separation_findings(rows, durations, compared, protocol)
    write_json(findings, {**found, "series": list(series), "seal_digest": seal})


def durations_of(rows: Sequence[Row], options: Sequence[Key]) -> dict[Key, list[float]]:
    """Return the main times in seconds of each option, in measured order."""
    durations: dict[Key, list[float]] = {tuple(option): [] for option in options}
    for row in rows:
        if row["main_time_s"]:
            durations[row["offer"], row["variant"]].append(float(row["main_time_s"]))
    return durations


def pair_rows(
    durations: Mapping[Key, Sequence[float]],
    compared: Iterable[Compared],
    control: Sequence[str] | None,
) -> list[dict[str, Any]]:
    """Return one row a pair of options that have durations."""
    rows = []
    for first, other, comparison in compared:
        times = durations[first], durations[other]
        test, interval = permutation_test(*times), ratio_interval(*times)
        rows.append(
            {
                "offer_a": first[0],
                "variant_a": first[1],
                "offer_b": other[0],
                "variant_b": other[1],
                "passes_a": len(times[0]),
                "passes_b": len(times[1]),
                "median_a_s": seconds(comparison.median_first),
                "median_b_s": seconds(comparison.median_other),
                "gap_s": seconds(comparison.gap),
                "larger_spread_s": seconds(comparison.larger_spread),
                "larger_middle_spread_s": seconds(comparison.larger_middle_spread),
                "rank_p_value": ratio(comparison.rank_p_value),
                "ranges_overlap": comparison.ranges_overlap,
                "separated": comparison.separated,
                "reason": comparison.reason,
                "ratio": ratio(comparison.median_other / comparison.median_first),
                "ratio_low": ratio(interval.low),
                "ratio_high": ratio(interval.high),
                "p_value": ratio(test.p_value),
                "p_value_reason": test.reason,
                "control": is_control(first, other, control),
                "definition": DEFINITION,
            }
        )
    return rows


def is_control(first: Key, other: Key, control: Sequence[str] | None) -> bool:
    """Return whether the pair is the A/A control: one setting under two names, on one offer."""
    return bool(control) and first[0] == other[0] and {first[1], other[1]} == set(control or ())


def separation_findings(
    rows: Sequence[Row],
    durations: Mapping[Key, Sequence[float]],
    compared: Sequence[Compared],
    protocol: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the groups and what was looked for beside them: drift, the control."""
    passes: dict[Key, list[tuple[int, float]]] = {}
    for row in rows:
        if row["position"] and row["main_time_s"]:
            key = (row["offer"], row["variant"])
            passes.setdefault(key, []).append((int(row["position"]), float(row["main_time_s"])))
    effect = position_effect(passes)
    order = ranked(durations)
    together = [(first, other) for first, other, found in compared if not found.separated]
    level = protocol["separation"]["position_effect"]
    return {
        "definition": DEFINITION,
        "rule": dict(protocol["separation"]),
        "groups": [[list(option) for option in group] for group in groups(order, together)],
        "position_effect": {
            "p_value": effect.p_value,
            "level": level,
            "found": effect.p_value is not None and effect.p_value < level,
            "reason": effect.reason,
        },
        "control": control_finding(compared, protocol["control"]),
        "trend": {
            offer: trend_finding(own, durations, level) for offer, own in by_offer(rows).items()
        },
        "time_of_day": {
            offer: hour_finding(own, durations, level) for offer, own in by_offer(rows).items()
        },
        "order": order_findings(rows),
        "measured_in": sessions(rows),
    }


def trend_finding(
    rows: Sequence[Row], durations: Mapping[Key, Sequence[float]], level: float
) -> dict[str, Any]:
    """Return whether passes became slower or quicker as an offer's series went on."""
    relative = [
        float(row["main_time_s"]) / median(durations[row["offer"], row["variant"]])
        for row in rows
        if row["main_time_s"]
    ]
    slope, found = trend(relative)
    return {
        "slope": slope,
        "p_value": found.p_value,
        "level": level,
        "found": found.p_value is not None and found.p_value < level,
        "reason": found.reason,
    }


def hour_finding(
    rows: Sequence[Row], durations: Mapping[Key, Sequence[float]], level: float
) -> dict[str, Any]:
    """Return whether an offer's durations depend on the quarter of the day (UTC)."""
    quarters: dict[str, list[float]] = {}
    for row in rows:
        if row["main_time_s"] and row["started_utc"]:
            first = datetime.fromisoformat(row["started_utc"]).astimezone(UTC).hour // 6 * 6
            relative = float(row["main_time_s"]) / median(durations[row["offer"], row["variant"]])
            quarters.setdefault(f"{first:02}-{first + 6:02} h UTC", []).append(relative)
    found = time_of_day(quarters)
    return {
        "p_value": found.p_value,
        "level": level,
        "found": found.p_value is not None and found.p_value < level,
        "reason": found.reason,
        "medians": {name: median(values) for name, values in sorted(quarters.items())},
    }


def control_finding(
    compared: Iterable[Compared], control: Sequence[str] | None
) -> dict[str, Any] | None:
    """Return whether the rule tells the A/A control apart, on any offer; null without control."""
    if not control:
        return None
    found = [
        {"offer": first[0], "separated": result.separated, "reason": result.reason}
        for first, other, result in compared
        if is_control(first, other, control)
    ]
    return {
        "variants": list(control),
        "offers": found,
        "flagged": any(one["separated"] for one in found),
        "reason": None if found else "the control has no durations under both names",
    }
