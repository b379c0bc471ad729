"""Which options may be compared at all, and why each other one may not [P22], [P24], [P28]."""

from collections.abc import Iterator
from typing import Any

from atpar.decision.balance import Key, Row, Tables
from atpar.decision.cells import parts
from atpar.decision.model import Objection
from atpar.decision.words import and_list, plural
from atpar.rows import is_true

WORK = {
    "seal_digest": "Its passes were measured under another sealed protocol.",
    "evaluation_digest": "Its passes ran over another evaluation corpus.",
    "model_digest": "Its passes ran another model than the reference's.",
    "tokenizer_digest": "Its passes used another tokenizer than the reference's.",
    "entries_truncated": "Its passes cut other entries than the reference's.",
}
"""What must be equal for two options to have done the same work, and what is said if it isn't."""


def objections(tables: Tables, option: Key) -> list[Objection]:
    """Return why an option isn't admissible; nothing: it is."""
    found = [
        *unfinished(tables, option),
        *other_work(tables, option),
        *failures(tables, option),
        *quality(tables, option),
        *window(tables, option),
        *cost(tables, option),
    ]
    return [Objection(check=check, sentence=sentence) for check, sentence in found]


def unfinished(tables: Tables, option: Key) -> Iterator[tuple[str, str]]:
    """Planned passes without an attempt that counts: a decision isn't made from a part of them."""
    row = tables.summary[option]
    missing = int(row["missing_passes"])
    if missing:
        excluded = int(row["excluded"])
        why = f" ({plural(excluded, 'attempt')} excluded)" if excluded else ""
        yield (
            "unfinished",
            f"{missing} of {plural(int(row['planned_passes']), 'planned pass', 'planned passes')} "
            f"{'is' if missing == 1 else 'are'} missing{why}.",
        )


def other_work(tables: Tables, option: Key) -> Iterator[tuple[str, str]]:
    """Another corpus, model, tokenizer or truncation is other work, at whatever price [P7]."""
    standard = common_work(tables)
    for column, otherwise in WORK.items():
        own = {row[column] for row in tables.counted(option)}
        if not own or own == {standard[column]} != {None}:
            continue
        if column == "entries_truncated":
            yield "work", _truncation(own, standard[column], tables.protocol)
        elif standard[column] is None:
            yield "work", f"The options don't agree in {column}, so none of them is a standard."
        else:
            yield "work", otherwise


def _truncation(own: set[str | None], standard: str | None, protocol: Any) -> str:
    reference = protocol["tolerance"]["reference"]
    if None in own:
        return "How many entries were truncated isn't known."
    cut = and_list(sorted(own))
    if standard is None:
        return f"{cut} entries were truncated, and the reference {reference} has no such count."
    return (
        f"{cut} entries were truncated, {standard} with the reference {reference}: "
        "another truncation is other work."
    )


def common_work(tables: Tables) -> dict[str, str | None]:
    """Return what the work is measured against: the seal's, else the reference variant's.

    None where the reference variant's passes don't agree, or where it has none and the other
    options differ.
    """
    reference = tables.protocol["tolerance"]["reference"]
    standard: dict[str, str | None] = {
        "seal_digest": tables.seal_digest,
        "evaluation_digest": tables.evaluation_digest,
    }
    for column in WORK:
        if column in standard:
            continue
        of_reference, of_all = set(), set()
        for option in tables.summary:
            values = {row[column] for row in tables.counted(option)}
            of_all |= values
            if option[1] == reference:
                of_reference |= values
        values = of_reference or of_all
        standard[column] = values.pop() if len(values) == 1 else None
    return standard


def failures(tables: Tables, option: Key) -> Iterator[tuple[str, str]]:
    """More failed passes than the sealed rule accepts, or nothing but failed passes."""
    row = tables.summary[option]
    failed, accepted = int(row["failed_passes"]), tables.protocol["failed_passes_accepted"]
    good = int(row["successes"])
    if not failed or (good and failed <= accepted):
        return
    counted = failed + good
    limit = f"accepts {f'at most {accepted}' if accepted else 'none'}"
    if failed <= accepted:
        limit = "accepts that many, but without any success there is nothing to compare"
    kinds = and_list(parts(row["failure_kinds"]))
    yield (
        "memory" if "out_of_memory" in (row["failure_kinds"] or "") else "failures",
        f"{failed} of {plural(counted, 'pass', 'passes')} failed ({kinds}{_reached(tables, option)}"
        f"); the sealed rule {limit}.",
    )


def _reached(tables: Tables, option: Key) -> str:
    """Return how far failed passes came, in words."""
    reached = [
        f"{row['entries_completed']} of {row['entries_expected'] or 'an unknown number of'}"
        for row in tables.attempts
        if (row["offer"], row["variant"]) == option
        and is_true(row["counted"])
        and row["status"] != "ok"
        and row["entries_completed"] is not None
    ]
    return f"; {and_list(reached)} entries completed" if reached else ""


def quality(tables: Tables, option: Key) -> Iterator[tuple[str, str]]:
    """Every pass that ended well, and every expected deliverable, must be accepted [P4]."""
    row = tables.summary[option]
    verdict = row["quality_verdict"]
    if verdict != "accepted" and int(row["successes"]):
        checks = and_list(parts(row["failed_checks"]))
        reason = f": {checks}" if checks else ""
        yield "quality", f"Its quality is {verdict}{reason}.{_why(tables, option)}"
    own = [one for one in tables.deliverables if (one["offer"], one["variant"]) == option]
    missing = [one["deliverable"] for one in own if not is_true(one["accepted"])]
    if missing and verdict == "accepted":
        yield (
            "deliverables",
            f"{len(missing)} of {plural(len(own), 'expected deliverable')} "
            f"{_not(len(missing))} accepted: {and_list(missing)}.",
        )


def _not(count: int) -> str:
    return "isn't" if count == 1 else "aren't"


def _why(tables: Tables, option: Key) -> str:
    """Return the reasons of the deliverables that weren't accepted, as sentences."""
    reasons = dict.fromkeys(
        reason
        for row in tables.deliverables
        if (row["offer"], row["variant"]) == option and not is_true(row["accepted"])
        for reason in parts(row["reason"], " | ")
    )
    return "".join(f" {reason[0].upper()}{reason[1:]}." for reason in reasons)


def window(tables: Tables, option: Key) -> Iterator[tuple[str, str]]:
    """The rental must cover the window [P28], and the work must end before the deadline."""
    balance, of_offer = tables.balance[option], tables.windows.get(option[0])
    if not is_true(balance["covers_window"]):
        yield (
            "coverage",
            f"What is engaged doesn't cover the window of {_hours(balance)} h.",
        )
    if of_offer is not None and of_offer["meets_deadline"] == "false":
        yield (
            "deadline",
            f"The calendar ends at {of_offer['ends_utc']}, after the deadline "
            f"{of_offer['deadline_utc']}.",
        )


def _hours(balance: Row) -> str:
    return f"{float(balance['window_h'] or 0):.1f}"


def cost(tables: Tables, option: Key) -> Iterator[tuple[str, str]]:
    """An unknown amount can't be the lowest one."""
    row = tables.balance[option]
    if row["engaged_amount"] is None:
        reason = row["engaged_reason"] or "the balance gives no reason"
        yield "cost", f"Its engaged amount isn't known: {reason}."
