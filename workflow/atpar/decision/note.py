"""The decision in full sentences, from decision.json's content alone."""

from collections.abc import Iterator

from atpar.decision.amounts import lacking_alike
from atpar.decision.model import Decision, Option
from atpar.decision.words import and_list, brief, plural


def note(decision: Decision) -> str:
    """Return decision.md."""
    blocks = [
        f"# Decision: {decision.campaign}",
        *answer(decision),
        f"The question, sealed before the first pass ({decision.seal_digest[:12]}): "
        f"{decision.question}",
        "## The balance",
        balance_table(decision.options),
        *_section("What separates them", decision.separated_by),
        *_section("What would change the answer", [one.sentence for one in decision.margins]),
        *_section("What deciding costs", [decision.deciding.sentence] if decision.deciding else []),
        *_section("Not admissible", list(rejected(decision))),
        *_section("Not measured", [f"{option}." for option in decision.not_measured]),
        *_section("What was seen in the series", [one.sentence for one in decision.threats]),
        *_section("What the answer covers", decision.covered),
        *_section("What it doesn't cover", decision.not_covered),
        *_section("What may be done next", [decision.next_step] if decision.next_step else []),
    ]
    return "\n\n".join(blocks) + "\n"


def answer(decision: Decision) -> list[str]:
    """Return the answer as one or two paragraphs."""
    leading = and_list(decision.leading)
    many = len(decision.leading) > 1
    first = [one for one in decision.options if one.key in decision.leading]
    known = " as far as it is known" if any(one.unknown_items for one in first) else ""
    texts = {
        "chosen": f"**Chosen: {leading}.** {_cost(decision)}",
        "tied": f"**Not separated: {leading}.** {_cost(decision)} They engage the same "
        f"amount{known}, and the measured durations give no ground to prefer one of them.",
        "none": "**No option is admissible.** The reasons are below; the spending stays in the "
        "balance.",
        "screening": "**Screening only: no decision.** The measured spans are too short to carry "
        f"one. {leading} {'lead' if many else 'leads'} as far as they go. {_cost(decision)}",
        "unfinished": "**Unfinished: no decision.** Planned passes are missing. "
        + (
            f"So far {leading} {'lead' if many else 'leads'}. {_cost(decision)}"
            if decision.leading
            else "So far no option is admissible."
        ),
    }
    return [texts[decision.outcome].strip()]


def _cost(decision: Decision) -> str:
    """Return what the leading options engage, in one sentence."""
    if not decision.leading:
        return ""
    option = next(one for one in decision.options if one.key == decision.leading[0])
    lacks = f" ({and_list(option.unknown_items)})" if option.unknown_items else ""
    doubt = ""
    unknown = {
        (one.offer, one.variant): one.unknown_items for one in decision.options if one.admissible
    }
    if option.unknown_items and len(lacking_alike(unknown)) > 1:
        doubt = " Another option may engage less once that is known."
    return (
        f"Engaged: {engaged(option)}{lacks} for "
        f"{plural(option.deliverables_accepted, 'accepted deliverable')}.{doubt}"
    )


def engaged(option: Option) -> str:
    """Return what an option engages, and that it is more where items aren't known."""
    return _amount(option, option.engaged_amount) or "not known"


def _amount(option: Option, amount: str | None) -> str | None:
    if not amount:
        return None
    more = " and what isn't known" if option.unknown_items else ""
    return f"{amount} {option.currency}{more}"


def balance_table(options: list[Option]) -> str:
    """Return one line an option: verdict, durations, window, engaged amount, deliverables."""
    lines = [
        "| Option | Admissible | Quality | Durations, s (median) | Failures | Window, h | Engaged "
        "| Accepted | Per deliverable |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in options:
        cells = (
            str(one.key),
            "yes" if one.admissible else "no",
            _quality(one),
            _durations(one),
            str(one.failures),
            "-" if one.window_h is None else f"{float(one.window_h):.2f}",
            engaged(one),
            f"{one.deliverables_accepted} of {one.deliverables_expected}",
            _amount(one, one.cost_per_deliverable) or one.cost_per_deliverable_reason or "-",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _quality(option: Option) -> str:
    if option.metric_value is None:
        return option.quality_verdict
    return f"{option.quality_verdict} ({float(option.metric_value):.4f})"


def _durations(option: Option) -> str:
    if not option.durations_s:
        return "none"
    each = [f"{float(cell):.3g}" for cell in option.durations_s.split(";")]
    return f"{', '.join(each)} ({brief(option.median_s).removesuffix(' s')})"


def rejected(decision: Decision) -> Iterator[str]:
    """Give a sentence or more for each option that isn't admissible."""
    for one in decision.options:
        if one.objections:
            yield f"{one.key}: " + " ".join(each.sentence for each in one.objections)


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {line}" for line in lines)] if lines else []
