"""The decision, and which options the sealed rule tells apart."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from atpar.decision.model import Decision, Option
from atpar.decision.note import answer, rejected
from atpar.report.markdown import to_html, to_inline
from atpar.report.material import Material
from atpar.report.sections.blocks import Answer, Callout, Listing, Prose, Section
from atpar.report.tables import Column, Row, table
from atpar.report.values import VERDICTS, Mark, flag, money, number, score, seconds

OUTCOMES: dict[str, tuple[str, Mark]] = {
    "chosen": ("Decided", "good"),
    "tied": ("Not told apart", "caution"),
    "none": ("Nothing admissible", "bad"),
    "screening": ("Screening", "caution"),
    "unfinished": ("Not finished", "caution"),
}

LEADING = (
    Column("Option", "option"),
    Column(
        "Per deliverable",
        "cost_per_deliverable",
        money,
        numeric=True,
        unit="currency",
        reason="cost_per_deliverable_reason",
    ),
    Column(
        "Engaged",
        "engaged_amount",
        money,
        numeric=True,
        unit="currency",
        reason="engaged_reason",
        remark="engaged_reason",
    ),
    Column("Accepted", "accepted", numeric=True),
    Column("Quality", "quality_verdict", marks=VERDICTS),
    Column("Metric", "metric_value", score, numeric=True, otherwise="no counted pass has a value"),
    Column("Median, s", "median_s", seconds, numeric=True, otherwise="no pass ended well"),
    Column("Failures", "failures", numeric=True),
    Column("Window, h", "window_h", number, numeric=True),
)


def decision_section(material: Material) -> Section:
    """Return the answer, the leading options, and why; the whole balance follows it."""
    try:
        decision = Decision.model_validate(material.documents.get("decision"))
    except ValidationError:
        return Section("decision", "Decision", "", _note_alone(material))
    word, mark = OUTCOMES[decision.outcome]
    leading = [_figures(one) for one in decision.options if one.key in decision.leading]
    blocks: list[Any] = [Answer(word, mark, to_html("\n\n".join(answer(decision))))]
    if leading:
        blocks.append(table("leading", "The options that come first.", LEADING, leading))
    for title, items in (
        ("What separates them", decision.separated_by),
        ("Not admissible", list(rejected(decision))),
        ("Not measured", [f"{option}." for option in decision.not_measured]),
        ("What was seen in the series", [one.sentence for one in decision.threats]),
        ("What may be done next", [to_inline(decision.next_step)] if decision.next_step else []),
    ):
        if items:
            blocks.append(Listing(items, title))
    return Section("decision", "Decision", "", blocks)


def _figures(option: Option) -> Row:
    """Return an option of the decision as a row of text."""
    values = option.model_dump(mode="json", exclude={"objections", "unknown_items"})
    more = " and what isn't known" if option.unknown_items else ""
    return {
        **{name: "" if value is None else str(value) for name, value in values.items()},
        "currency": f"{option.currency or ''}{more}",
        "option": str(option.key),
        "accepted": f"{option.deliverables_accepted} of {option.deliverables_expected}",
    }


def _note_alone(material: Material) -> list[Any]:
    """Return decision.md as it is, where decision.json is absent or of another definition."""
    if material.decision_text is None:
        return [Callout("There is no decision yet: decision.json and decision.md aren't there.")]
    lines = material.decision_text.lstrip().splitlines()
    # The page has its own title.
    return [Prose(to_html("\n".join(lines[1:] if lines[0].startswith("# ") else lines)))]


def _pair(row: Row) -> Row:
    """Return a row of separation.csv with its two options as one cell each."""
    return {
        **row,
        "a": f"{row.get('offer_a')} · {row.get('variant_a')}",
        "b": f"{row.get('offer_b')} · {row.get('variant_b')}",
        "range": f"{number(row['ratio_low'])} to {number(row['ratio_high'])}"
        if row.get("ratio_low") and row.get("ratio_high")
        else "",
    }


GROUPS = (
    Column("Group", "group"),
    Column("Options that aren't told apart", "options", wide=True),
)

PAIRS = (
    Column("Quicker", "a"),
    Column("Slower", "b"),
    Column("Told apart", "separated", flag, marks={"true": "good", "false": "caution"}),
    Column("Why", "reason", wide=True),
    Column("Median, s", "median_a_s", seconds, numeric=True),
    Column("Median of the slower, s", "median_b_s", seconds, numeric=True),
    Column("Gap, s", "gap_s", seconds, numeric=True),
    Column("Larger spread, s", "larger_spread_s", seconds, numeric=True),
    Column("Larger middle spread, s", "larger_middle_spread_s", seconds, numeric=True),
    Column("Rank test p", "rank_p_value", number, numeric=True),
    Column("Ranges overlap", "ranges_overlap", flag),
    Column("Slower / quicker", "ratio", number, numeric=True),
    Column("95 % interval", "range", numeric=True, otherwise="too few passes"),
    Column("Permutation p", "p_value", number, numeric=True, reason="p_value_reason"),
    Column("A/A control", "control", flag),
)


def separation_section(material: Material) -> Section:
    """Return the groups, what was looked for beside them, and every pair."""
    findings = material.document("separation")
    groups = [
        {"group": str(place), "options": ", ".join(" · ".join(option) for option in group)}
        for place, group in enumerate(findings.get("groups") or [], start=1)
    ]
    nothing = "Nothing to compare: fewer than two options have durations."
    blocks: list[Any] = [
        table(
            "groups",
            "Groups by duration, quickest first. Options in one group are not told apart by this "
            "series, whatever their medians.",
            GROUPS,
            groups,
            empty="No option has a duration yet." if findings else "separation.json isn't there.",
        )
    ]
    if findings:
        span = material.document("decision").get("shortest_span") or {}
        blocks.append(Listing(list(_doubts(findings, span)), "What was looked for beside it"))
    blocks.append(
        table(
            "separation",
            "Every pair of options that have durations.",
            PAIRS,
            map(_pair, material.rows("separation")),
            row_headers=2,
            empty=material.emptiness("separation", nothing),
        )
    )
    return Section(
        "separation",
        "Separation",
        "Which options the sealed rule tells apart. When the spread is comparable to the gap, the "
        "series doesn't separate them, and the page says so.",
        blocks,
    )


def _doubts(findings: dict[str, Any], span: dict[str, Any]) -> Iterator[str]:
    """Give what speaks against reading the series at face value, or that nothing does.

    `span` is the decision's: only the admissible options' spans carry it.
    """
    if span.get("screening"):
        option = span["option"]
        yield (
            f"Screening only: the shortest median of an admissible option, "
            f"{float(span['median_s']):.4g} s ({option['offer']} · {option['variant']}), is below "
            f"the sealed {span['minimum_s']:g} s, so no decision can rest on it."
        )
    effect = findings.get("position_effect") or {}
    if effect.get("p_value") is None:
        yield f"Effect of the place in the rotation: not tested ({effect.get('reason')})."
    else:
        found = "found" if effect.get("found") else "not found"
        yield (
            f"Effect of the place in the rotation: {found} (p = {effect['p_value']:.3g}, level "
            f"{effect['level']:g})."
        )
    yield from _control(findings.get("control"))
    order = findings.get("order") or {}
    yield from (f"Order: {sentence}." for sentence in order.get("sentences") or [])
    if not order.get("sentences"):
        yield "Order: the passes ran as planned, one at a time."
    for offer, count in (order.get("sessions") or {}).items():
        if count > 1:
            yield f"{offer} was measured in {count} sessions, not in one."


def _control(control: dict[str, Any] | None) -> Iterator[str]:
    """Give what the A/A control says, if the protocol names one."""
    if control is None:
        return
    names = " and ".join(control["variants"])
    if control.get("reason"):
        yield f"A/A control {names}: {control['reason']}."
    elif control["flagged"]:
        yield f"A/A control {names}: told apart, though they are one setting: distrust the series."
    else:
        yield f"A/A control {names}: not told apart, as it should be."
