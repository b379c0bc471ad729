"""The decision in a few lines for a terminal."""

from pathlib import Path

from atpar.canonical import read_json
from atpar.decision.model import Decision
from atpar.decision.note import answer, engaged
from atpar.decision.words import brief


def decision_lines(path: Path) -> list[str]:
    """Return the lines that say what decision.json holds: the answer, each option, what to do."""
    decision = Decision.model_validate(read_json(path))
    lines = [paragraph.replace("**", "") for paragraph in answer(decision)]
    width = max((len(str(one.key)) for one in decision.options), default=0)
    amounts = [engaged(one) if one.engaged_amount else "cost not known" for one in decision.options]
    longest = max(map(len, amounts), default=0)
    for one, amount in zip(decision.options, amounts, strict=True):
        state = "admissible" if one.admissible else f"not admissible ({one.objections[0].check})"
        figures = f"{brief(one.median_s):>11}  {amount:>{longest}}"
        lines.append(f"  {one.key!s:{width}}  {figures}  {state}")
    lines += [f"  {sentence}" for sentence in decision.separated_by]
    if decision.threats:
        lines.append(f"  Seen in the series: {', '.join(_names(decision))}.")
    if decision.next_step:
        lines.append(f"  {decision.next_step}")
    return lines


def _names(decision: Decision) -> list[str]:
    return list(dict.fromkeys(threat.name for threat in decision.threats))
