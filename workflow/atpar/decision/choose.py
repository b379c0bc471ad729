"""Which admissible option comes first: by engaged cost, then failures, then durations [P35]."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from atpar.decision.balance import Key, Tables
from atpar.decision.words import and_list, brief, plural


@dataclass
class Ranking:
    """The options that come first, and in sentences what tells them from the others."""

    leading: list[Key]
    sentences: list[str] = field(default_factory=list)

    @property
    def tied(self) -> bool:
        """More than one comes first."""
        return len(self.leading) > 1


def name(option: Key) -> str:
    """Return an option in words."""
    return f"{option[1]} on {option[0]}"


def rank(tables: Tables, admissible: Sequence[Key]) -> Ranking:
    """Return the leading options among the admissible ones."""
    ranking = Ranking(list(admissible))
    if not admissible:
        return ranking
    if len(admissible) == 1:
        ranking.sentences.append(f"Only {name(admissible[0])} is admissible.")
        return ranking
    _by_cost(tables, ranking)
    _by_failures(tables, ranking)
    _by_durations(tables, ranking)
    return ranking


def _by_cost(tables: Tables, ranking: Ranking) -> None:
    """Keep the options of the lowest engaged amount."""
    amounts = {
        option: Decimal(tables.balance[option]["engaged_amount"]) for option in ranking.leading
    }
    lowest = min(amounts.values())
    kept = [option for option in ranking.leading if amounts[option] == lowest]
    currency = tables.balance[kept[0]]["currency"]
    if len(kept) == len(ranking.leading):
        ranking.sentences.append(
            f"All admissible options engage the same amount, {lowest} {currency}: "
            "cost doesn't tell them apart."
        )
    else:
        dearer = min(amount for amount in amounts.values() if amount > lowest)
        offers = list(dict.fromkeys(option[0] for option in kept))
        ranking.sentences.append(
            f"{and_list(offers)} {'engages' if len(offers) == 1 else 'engage'} the lowest amount, "
            f"{lowest} {currency}; the next one engages {dearer} {currency}."
        )
    ranking.leading = kept


def _by_failures(tables: Tables, ranking: Ranking) -> None:
    """Keep the options with the fewest failed attempts."""
    if not ranking.tied:
        return
    failures = {option: int(tables.summary[option]["failures"]) for option in ranking.leading}
    fewest = min(failures.values())
    kept = [option for option in ranking.leading if failures[option] == fewest]
    for option in ranking.leading:
        if option not in kept:
            ranking.sentences.append(
                f"{name(option)} had {plural(failures[option], 'failed attempt')}, "
                f"the leading ones {fewest or 'none'}."
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
