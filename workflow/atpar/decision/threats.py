"""What was seen in the series that a reader must know before relying on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from atpar.decision.balance import Tables
from atpar.decision.model import Threat
from atpar.decision.words import and_list, brief, plural
from atpar.rows import is_true

LARGEST_DISAGREEMENT_S = 1.0
"""Wall clock against monotonic clock over a pass; more is a clock that jumped or a suspend."""

SHOWN = 3
"""Attempts that a sentence names; above it only the first ones."""

UNSTABLE = 1.5
"""Largest over smallest duration of an option, above which its series is called unstable."""


def threats(tables: Tables) -> list[Threat]:
    """Return the threats, each as one sentence."""
    found = [
        *stacks(tables.environments),
        *changed_machines(tables),
        *series(tables),
        *measurements(tables),
        *recoveries(tables),
        *uncertain_quality(tables),
        *differing_seeds(tables),
        *used_corpus(tables),
        *prices(tables),
    ]
    return [Threat(name=name, sentence=sentence) for name, sentence in found]


def stacks(environments: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Software or drivers that differ between offers: whole configurations are compared [P8]."""
    differing = []
    described = {offer: stack(environment) for offer, environment in environments.items()}
    for part in sorted({part for one in described.values() for part in one}):
        values = {offer: one.get(part) for offer, one in described.items()}
        if len(set(values.values())) > 1:
            each = [f"{value or 'unknown'} on {offer}" for offer, value in values.items()]
            differing.append(f"{part} ({', '.join(each)})")
    if differing:
        yield (
            "software stacks",
            f"The offers ran different software: {and_list(differing)}. The conclusion is about "
            "whole configurations, not about their single parts.",
        )


def stack(environment: Mapping[str, Any]) -> dict[str, str]:
    """Return an environment's software and driver as part -> version."""
    parts = {name: str(version) for name, version in environment["software"].items() if version}
    driver = environment.get("driver")
    if isinstance(driver, Mapping):
        parts |= {f"driver {name}": str(value) for name, value in driver.items() if value}
    elif driver:
        parts["driver"] = str(driver)
    return parts


def changed_machines(tables: Tables) -> Iterator[tuple[str, str]]:
    """An offer whose passes ran in several environments, or on several cards."""
    for offer in tables.environments:
        counted = [
            row for row in tables.attempts if row["offer"] == offer and is_true(row["counted"])
        ]
        devices = sorted({row["device"] for row in counted if row["device"]})
        if len(devices) > 1:
            yield (
                "several devices",
                f"The passes of {offer} ran on {len(devices)} devices ({and_list(devices)}): their "
                "differences are part of its durations. The offers table's column `node` keeps an "
                "offer on one node.",
            )
        digests = {row["environment_digest"] for row in counted if row["environment_digest"]}
        if len(digests) > 1:
            yield (
                "changed machine",
                f"The passes of {offer} ran in {len(digests)} different environments (machine or "
                "software changed between them).",
            )


def series(tables: Tables) -> Iterator[tuple[str, str]]:
    """Drift, order, the A/A control, what a series varies, and unstable durations."""
    findings = tables.findings
    effect = findings["position_effect"]
    if effect["found"]:
        yield (
            "position effect",
            "A pass's duration depends on its place in the round "
            f"(p = {effect['p_value']:.2g}, level {effect['level']:g}).",
        )
    control = findings["control"]
    if control and control["flagged"]:
        offers = and_list([one["offer"] for one in control["offers"] if one["separated"]])
        yield (
            "A/A control",
            f"The rule tells {and_list(control['variants'])} apart on {offers}, though they are "
            "the same setting: the whole series is in doubt.",
        )
    for sentence in findings["order"]["sentences"]:
        yield "order", f"Planned and actual order disagree: {sentence}."
    for offer, trend in findings["trend"].items():
        if trend["found"]:
            yield (
                "trend",
                f"On {offer} passes became {'slower' if trend['slope'] > 0 else 'quicker'} as the "
                f"series went on (p = {trend['p_value']:.2g}, level {trend['level']:g}).",
            )
    for offer, hours in findings["time_of_day"].items():
        if hours["found"]:
            slowest = max(hours["medians"], key=hours["medians"].get)
            yield (
                "time of day",
                f"On {offer} a pass's duration depends on the time of day "
                f"(p = {hours['p_value']:.2g}, level {hours['level']:g}): longest in {slowest}.",
            )
    for one in findings["series"]:
        yield "several variables", f"{one['problem'][0].upper()}{one['problem'][1:]}."
    yield from other_times(tables)
    for (offer, variant), row in tables.summary.items():
        if row["max_s"] and float(row["max_s"]) > UNSTABLE * float(row["min_s"]):
            yield (
                "unstable",
                f"The durations of {variant} on {offer} are unstable: the longest is "
                f"{float(row['max_s']) / float(row['min_s']):.2g} times the shortest.",
            )


def other_times(tables: Tables) -> Iterator[tuple[str, str]]:
    """Options of one offer that were never measured in the same session: a later series."""
    for offer, sessions in tables.findings["measured_in"].items():
        reference = tables.protocol["tolerance"]["reference"]
        standard = set(sessions.get(reference) or next(iter(sessions.values())))
        apart = [variant for variant, own in sessions.items() if not standard & set(own)]
        several = {session for own in sessions.values() for session in own}
        if apart:
            yield (
                "measured at another time",
                f"On {offer}, {and_list(apart)} {'was' if len(apart) == 1 else 'were'} measured at "
                "another time than the others, not rotated with them.",
            )
        elif len(several) > 1:
            yield (
                "sessions",
                f"The passes of {offer} were measured in {len(several)} sessions, so they weren't "
                "all rotated together.",
            )


def measurements(tables: Tables) -> Iterator[tuple[str, str]]:
    """Excluded passes, clocks that jumped, and notes on a busy or throttled device."""
    attempts = [row for row in tables.attempts if (row["offer"], row["variant"]) in tables.summary]
    excluded = [row for row in attempts if is_true(row["excluded"])]
    if excluded:
        each = [f"{row['attempt_id']}: {row['exclusion_cause']}" for row in excluded]
        yield (
            "excluded",
            f"{plural(len(excluded), 'attempt is', 'attempts are')} excluded for an external "
            f"cause ({'; '.join(each)}).",
        )
    jumped = [
        row["attempt_id"]
        for row in attempts
        if row["clock_disagreement_s"]
        and abs(float(row["clock_disagreement_s"])) > LARGEST_DISAGREEMENT_S
    ]
    if jumped:
        yield (
            "clocks",
            f"Wall clock and monotonic clock disagree by more than {LARGEST_DISAGREEMENT_S:g} s "
            f"over {plural(len(jumped), 'attempt')} ({_first(jumped)}).",
        )
    busy = [row["attempt_id"] for row in attempts if "busy" in (row["notes"] or "")]
    if busy:
        yield (
            "busy device",
            f"Other processes kept the device busy during {len(busy)} of "
            f"{plural(len(attempts), 'attempt')} ({_first(busy)}).",
        )
    heated = [row["attempt_id"] for row in attempts if "throttled: " in (row["notes"] or "")]
    if heated:
        share = "all" if len(heated) == len(attempts) else f"{len(heated)} of"
        yield (
            "throttled",
            f"The GPU's clocks were lowered in {share} {plural(len(attempts), 'attempt')} "
            f"({_first(heated)}): by heat or a power limit, as the notes of each say.",
        )


def _first(names: Sequence[str]) -> str:
    """Return a few of the names; the attempts table has them all."""
    return and_list(names) if len(names) <= SHOWN else ", ".join(names[:SHOWN]) + ", ..."


def recoveries(tables: Tables) -> Iterator[tuple[str, str]]:
    """Variants that recover another one's failures, with what that cost [P18]."""
    for (offer, variant), row in tables.summary.items():
        recovered = _recovered(tables, offer, variant)
        if recovered:
            failures = sum(int(tables.summary[offer, one]["failures"]) for one in recovered)
            yield (
                "recovery",
                f"{variant} on {offer} recovers {', which recovers '.join(recovered)}: "
                f"{plural(failures, 'failed attempt')} of what it recovers "
                f"{'is' if failures == 1 else 'are'} part of its balance, "
                f"{brief(row['attempts_wall_s'])} of attempts in all.",
            )


def _recovered(tables: Tables, offer: str, variant: str) -> list[str]:
    """Return what a variant recovers, what that one recovers, and so on."""
    chain = [variant]
    while (row := tables.summary.get((offer, chain[-1]))) and row["recovers"]:
        following = row["recovers"]
        if following in chain or (offer, following) not in tables.summary:
            break
        chain.append(following)
    return chain[1:]


def uncertain_quality(tables: Tables) -> Iterator[tuple[str, str]]:
    """Accepted options whose true drop may lie beyond the tolerance, by the interval."""
    tolerance = tables.protocol["tolerance"]
    for (offer, variant), row in tables.summary.items():
        low = row["metric_difference_low"]
        if row["quality_verdict"] != "accepted" or low is None:
            continue
        if float(low) < -tolerance["largest_drop"]:
            high, entries = row["metric_difference_high"], row["entries"]
            yield (
                "quality uncertainty",
                f"{row['metric']} of {variant} on {offer} differs from the reference's by "
                f"{float(row['metric_difference']):+.4g}, within the tolerance of "
                f"{tolerance['largest_drop']:g}; over {entries} entries the 95 % interval reaches "
                f"from {float(low):+.4g} to {float(high):+.4g}, beyond it.",
            )


def differing_seeds(tables: Tables) -> Iterator[tuple[str, str]]:
    """Options whose main metric differs between the seeds of a stochastic protocol [P23]."""
    for option, row in tables.summary.items():
        found: dict[str, list[float]] = {}
        for one in tables.counted(option):
            if one["seed"] and one["metric_value"]:
                found.setdefault(one["seed"], []).append(float(one["metric_value"]))
        values = {value for own in found.values() for value in own}
        if len(found) > 1 and len(values) > 1:
            offer, variant = option
            each = [
                f"{' and '.join(f'{value:.4g}' for value in sorted(set(own)))} with seed {seed}"
                for seed, own in found.items()
            ]
            yield (
                "seeds",
                f"{row['metric']} of {variant} on {offer} depends on the seed: {and_list(each)}.",
            )


def used_corpus(tables: Tables) -> Iterator[tuple[str, str]]:
    """An evaluation corpus that was judged before, under other rules or in part [P2]."""
    for campaign, differing in tables.used_elsewhere["other_protocols"].items():
        yield (
            "corpus used before",
            f"Campaign {campaign} judged the same evaluation corpus under another protocol "
            f"({differing} differ): what is fixed here may have been chosen knowing its results.",
        )
    overlap = tables.used_elsewhere["overlap"]
    if overlap and overlap["entries"]:
        yield (
            "corpus used before",
            f"{overlap['entries']} of {overlap['of']} entries were evaluated by the earlier "
            f"campaign {overlap['campaign']} too.",
        )


def prices(tables: Tables) -> Iterator[tuple[str, str]]:
    """Doubts that the ledger has about an amount, once an offer."""
    seen = {}
    for (offer, _), row in tables.balance.items():
        if row["engaged_reason"] and row["engaged_amount"]:
            seen.setdefault((offer, row["engaged_reason"]))
    for offer, reason in seen:
        yield "amount", f"The amount of {offer}: {reason}."
