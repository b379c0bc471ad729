"""The stage: decision.json and decision.md, from the tables alone [P35], [P36]."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atpar.canonical import write_json, write_text
from atpar.decision.admissible import objections
from atpar.decision.amounts import name
from atpar.decision.balance import Key, Tables, read_tables
from atpar.decision.cells import parts
from atpar.decision.choose import Ranking, rank
from atpar.decision.flips import Paid, deciding, margins
from atpar.decision.model import Decision, Option, OptionKey, Span
from atpar.decision.note import note
from atpar.decision.threats import threats
from atpar.decision.words import and_list, brief, plural

NOT_COVERED = (
    "An interactive service: arrivals, concurrency and latency weren't measured.",
    "Training or fine-tuning until convergence.",
    "Another corpus, other proportions of lengths, another model, or another truncation.",
)
"""What an offline ranking says nothing of [P3]."""


def decide_from_files(
    files: Mapping[str, Any],
    decision: Path,
    text: Path,
    campaign: str,
    planned: Sequence[Key],
    repetitions_added: int,
    paid: Paid | None = None,
) -> None:
    """Write the decision. `files` are the arguments of `read_tables`, `planned` all options.

    `paid` is what the balance rests on, for the margins of the choice and the cost of deciding.
    """
    tables = read_tables(**files)
    made = decide(tables, campaign, planned, repetitions_added, paid)
    write_json(decision, made.model_dump(mode="json"))
    write_text(text, note(made))


def decide(
    tables: Tables,
    campaign: str,
    planned: Sequence[Key],
    repetitions_added: int = 0,
    paid: Paid | None = None,
) -> Decision:
    """Return the decision that follows from the tables."""
    options = [_option(tables, key) for key in tables.summary]
    admissible = [(one.offer, one.variant) for one in options if one.admissible]
    ranking = rank(tables, admissible)
    waiting = [key for key in map(tuple, planned) if key not in tables.summary]
    span = shortest_span(options, tables.protocol["minimum_span_s"])
    outcome = _outcome(options, ranking, waiting, span)
    chosen = ranking.leading[0] if outcome == "chosen" else None
    return Decision(
        campaign=campaign,
        question=tables.protocol["question"],
        scenario=tables.protocol["scenario"],
        seal_digest=tables.seal_digest,
        outcome=outcome,
        choice=_key(chosen) if chosen else None,
        leading=[_key(option) for option in ranking.leading],
        options=options,
        not_measured=[_key(option) for option in waiting],
        separated_by=ranking.sentences,
        shortest_span=span,
        groups=[[_key(option) for option in group] for group in tables.findings["groups"]],
        covered=_covered(tables, ranking),
        not_covered=list(NOT_COVERED),
        threats=threats(tables),
        margins=margins(tables, ranking, paid) if paid else [],
        deciding=deciding(paid) if paid else None,
        next_step=next_step(tables, outcome, ranking, repetitions_added, span),
    )


def _key(option: Sequence[str]) -> OptionKey:
    return OptionKey(offer=option[0], variant=option[1])


def _option(tables: Tables, key: Key) -> Option:
    summary, balance = tables.summary[key], tables.balance[key]
    against = objections(tables, key)
    return Option(
        offer=key[0],
        variant=key[1],
        admissible=not against,
        objections=against,
        **{
            name: summary[name]
            for name in ("quality_verdict", "metric_value", "durations_s", "median_s")
        },
        **{name: int(summary[name]) for name in ("successes", "failures", "excluded")},
        **{
            name: balance[name]
            for name in (
                "window_h",
                "engaged_amount",
                "currency",
                "engaged_reason",
                "cost_per_deliverable",
                "cost_per_deliverable_reason",
            )
        },
        unknown_items=parts(balance["unknown_items"], "; "),
        **{
            name: int(balance[name] or 0)
            for name in ("deliverables_accepted", "deliverables_expected")
        },
    )


def shortest_span(options: Sequence[Option], minimum: float) -> Span | None:
    """Return the smallest median of the admissible options; None: no option is admissible."""
    medians = {one.key: one.median_s for one in options if one.admissible and one.median_s}
    if not medians:
        return None
    shortest = min(medians, key=lambda key: float(medians[key]))
    return Span(
        option=shortest,
        median_s=medians[shortest],
        minimum_s=minimum,
        screening=float(medians[shortest]) < minimum,
    )


def _outcome(
    options: Sequence[Option], ranking: Ranking, waiting: Sequence[Key], span: Span | None
) -> str:
    """Return the outcome; what is missing or too short comes before what would be chosen."""
    incomplete = [
        one for one in options if any(each.check == "unfinished" for each in one.objections)
    ]
    if incomplete or waiting:
        return "unfinished"
    if not ranking.leading:
        return "none"
    if span is not None and span.screening:
        return "screening"
    return "tied" if ranking.tied else "chosen"


def _covered(tables: Tables, ranking: Ranking) -> list[str]:
    """Return the load that the answer is about."""
    entries = {
        tables.summary[option]["entries"]
        for option in ranking.leading or list(tables.summary)
        if tables.summary[option]["entries"]
    }
    deliverables = tables.protocol["deliverables"]
    load = f"{and_list(sorted(entries))} entries a pass" if entries else "No complete pass"
    return [
        f"{load}, processed offline as a whole; expected "
        f"{plural(len(deliverables), 'deliverable').split(' ', 1)[1]}: {and_list(deliverables)}."
    ]


def next_step(
    tables: Tables,
    outcome: str,
    ranking: Ranking,
    repetitions_added: int,
    span: Span | None,
) -> str | None:
    """Return what may be done about a campaign that carries no choice yet; null: nothing."""
    if outcome == "screening" and span is not None:
        return (
            f"The shortest median span is {brief(span.median_s)} ({span.option}), below the sealed "
            f"minimum of {brief(span.minimum_s)}: let a pass process more entries, in a new "
            "campaign."
        )
    if outcome != "tied":
        return None
    control = tables.findings["control"]
    if control and control["flagged"]:
        return (
            "The A/A control is told apart, so more passes of this series would say nothing. Look "
            "for what changed between its passes: other work on the machine, clocks, heat, the "
            "place in the round. Passes with a documented external cause can be excluded and are "
            "measured again; without one, measure in a new campaign once the cause is gone."
        )
    rule = tables.protocol["extension"]
    if rule["mode"] == "none":
        return None
    now = tables.protocol["repetitions"] + repetitions_added
    if now >= rule["limit"]:
        return (
            f"The sealed limit of {rule['limit']} repetitions is reached: the answer stays that "
            f"{and_list([name(option) for option in ranking.leading])} aren't told apart."
        )
    if rule["mode"] == "automatic":
        return (
            f"The sealed rule extends the series by itself, up to {rule['limit']} repetitions: "
            "snakemake goes on with one more round for all variants where one machine measures "
            "every option, within the campaign's cap and unless the A/A control is told apart. "
            f"Otherwise set `repetitions_added: {repetitions_added + 1}` on each machine and run "
            "snakemake again."
        )
    return (
        f"The sealed rule allows up to {rule['limit']} repetitions. One more round for all "
        f"variants: set `repetitions_added: {repetitions_added + 1}` and run snakemake again."
    )
