"""Which admissible option comes first: by engaged cost, then failures, then durations [P35]."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from atpar.decision.amounts import name, named, unlike
from atpar.decision.balance import Key, Tables
from atpar.decision.cells import parts
from atpar.decision.words import and_list, brief, plural

OUTSIDE = ("interrupted", "refused")
"""Statuses of attempts that may have ended by no fault of the variant."""


@dataclass
class Ranking:
    """The options that come first, and in sentences what tells them from the others."""

    leading: list[Key]
    sentences: list[str] = field(default_factory=list)
    ranked: list[Key] = field(default_factory=list)
    """The options that were compared: the admissible ones, an A/A control's two names as one."""

    @property
    def tied(self) -> bool:
        """More than one comes first."""
        return len(self.leading) > 1


def rank(tables: Tables, admissible: Sequence[Key]) -> Ranking:
    """Return the leading options among the admissible ones."""
    ranking = Ranking(list(admissible))
    _merge_control(tables, ranking)
    ranking.ranked = list(ranking.leading)
    if not admissible:
        return ranking
    if not ranking.tied:
        only = name(ranking.leading[0])
        ranking.sentences.append(
            f"Only {only} is admissible."
            if len(admissible) == 1
            else f"Besides {only} no other option is admissible."
        )
        return ranking
    _by_cost(tables, ranking)
    _by_failures(tables, ranking)
    _by_durations(tables, ranking)
    return ranking


def _merge_control(tables: Tables, ranking: Ranking) -> None:
    """Leave one of an A/A control's two names on each offer: a sound series never parts them."""
    if not tables.protocol["control"]:
        return
    first, second = tables.protocol["control"]
    for option in list(ranking.leading):
        if option[1] == second and (option[0], first) in ranking.leading:
            ranking.leading.remove(option)
            ranking.sentences.append(
                f"{name(option)} is the setting of {first} under a second name (the A/A control), "
                "so the two are ranked as one option."
            )


def _by_cost(tables: Tables, ranking: Ranking) -> None:
    """Keep the options of the lowest engaged amount."""
    amounts = {
        option: Decimal(tables.balance[option]["engaged_amount"]) for option in ranking.leading
    }
    lowest = min(amounts.values())
    kept = [option for option in ranking.leading if amounts[option] == lowest]
    currency = tables.balance[kept[0]]["currency"]
    among = ranking.leading
    if len(kept) == len(among):
        ranking.sentences.append(
            f"All admissible options engage the same amount, {lowest} {currency}: "
            "cost doesn't tell them apart."
        )
    else:
        dearer = min(amount for amount in amounts.values() if amount > lowest)
        names = named(kept, among)
        ranking.sentences.append(
            f"{and_list(names)} {'engages' if len(names) == 1 else 'engage'} the lowest amount, "
            f"{lowest} {currency}; the next one engages {dearer} {currency}."
        )
    unknown = {option: parts(tables.balance[option]["unknown_items"], "; ") for option in among}
    if sentence := unlike(unknown, kept):
        ranking.sentences.append(sentence)
    ranking.leading = kept


def _by_failures(tables: Tables, ranking: Ranking) -> None:
    """Keep the options with the fewest failed attempts."""
    if not ranking.tied:
        return
    failures = {option: int(tables.summary[option]["failures"]) for option in ranking.leading}
    fewest = min(failures.values())
    kept = [option for option in ranking.leading if failures[option] == fewest]
    kinds = {option: parts(tables.summary[option]["failure_kinds"]) for option in failures}
    dropped = [option for option in ranking.leading if option not in kept]
    for option in dropped:
        ranking.sentences.append(
            f"{name(option)} had {plural(failures[option], 'failed attempt')} "
            f"({and_list(kinds[option])}), the leading ones {fewest or 'none'}."
        )
    if any(f" {status} " in kind for one in dropped for kind in kinds[one] for status in OUTSIDE):
        ranking.sentences.append(
            "An attempt that was interrupted or refused counts as failed too. One that a cause "
            "outside the variant ended can be excluded, with its evidence, in the exclusions "
            "table; the rule is the same for all variants."
        )
    ranking.leading = kept


def _by_durations(tables: Tables, ranking: Ranking) -> None:
    """Keep the quickest option and those that the sealed rule doesn't tell from it."""
    if not ranking.tied:
        return
    control = tables.findings["control"]
    if control and control["flagged"]:
        ranking.sentences.append(
            "The rule tells the A/A control apart, so durations of this series aren't used to "
            f"choose between {and_list([name(option) for option in ranking.leading])}."
        )
        return
    order = sorted(ranking.leading, key=lambda one: float(tables.summary[one]["median_s"]))
    quickest = order[0]
    kept = [quickest]
    for option in order[1:]:
        pair = tables.told_apart(quickest, option)
        if pair is None:
            kept.append(option)
        else:
            ranking.sentences.append(
                f"{name(option)} is told apart from {name(quickest)} by its durations: medians "
                f"{brief(pair['median_b_s'])} and {brief(pair['median_a_s'])}; {pair['reason']}."
            )
    if len(kept) > 1:
        medians = [f"{name(one)} {brief(tables.summary[one]['median_s'])}" for one in kept]
        ranking.sentences.append(
            f"The series doesn't tell {and_list([name(one) for one in kept])} apart "
            f"(medians: {', '.join(medians)})."
        )
    ranking.leading = kept
