"""Compute a bag's tables again from its attempts, with the functions that the workflow uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atpar.calendar.plan import plan_calendar
from atpar.decision.attempts import tabulate_attempts
from atpar.decision.decide import decide_from_files
from atpar.decision.flips import Paid, read_paid
from atpar.decision.separate import separate_options
from atpar.decision.summary import summarise_passes
from atpar.errors import AtparError
from atpar.money.keep import keep_ledger
from atpar.report.compare import differences


@dataclass(frozen=True)
class Bag:
    """The payload of a bag, a folder for what is computed from it, and its manifest."""

    data: Path
    work: Path
    manifest: Mapping[str, Any]

    def settings(self, step: str) -> dict[str, Any]:
        """Return the settings with which a step was run."""
        try:
            return dict(self.manifest["steps"][step])
        except (KeyError, TypeError):
            raise AtparError(f"manifest.json has no settings of {step}") from None

    def inputs(self, role: str) -> list[Path]:
        """Return the files that a person wrote, by their role; none outside the bag."""
        paths = [self.data / one["path"] for one in self.manifest["inputs"].get(role, [])]
        for path in paths:
            if not path.resolve().is_relative_to(self.data.resolve()):
                raise AtparError(f"manifest.json names {path.name} outside the bag")
        return paths

    def files(self, pattern: str) -> list[Path]:
        """Return the payload's files of a pattern, sorted."""
        return sorted(self.data.glob(pattern))


def _attempts(bag: Bag) -> None:
    """From journals, checks and verdicts."""
    (exclusions,) = bag.inputs("exclusions")
    tabulate_attempts(
        journals=bag.data / "journal",
        records=bag.files("passes/*/*/*.json"),
        checks=bag.files("checks/*/*.json"),
        qualities=bag.files("quality/*/*.json"),
        exclusions=exclusions,
        output=bag.work / "attempts.csv",
        metric=bag.settings("tabulate_attempts")["metric"],
        series=bag.settings("tabulate_attempts")["series"],
    )


def _summary(bag: Bag) -> None:
    """From the bag's attempts alone, with the verdicts of several deliverables."""
    summarise_passes(
        attempts=bag.data / "attempts.csv",
        qualities=bag.files("quality/*/*.json"),
        summary=bag.work / "summary.csv",
        deliverables=bag.work / "deliverables.csv",
        **bag.settings("summarise_passes"),
    )


def _separation(bag: Bag) -> None:
    separate_options(
        attempts=bag.data / "attempts.csv",
        table=bag.work / "separation.csv",
        findings=bag.work / "separation.json",
        **bag.settings("separate_options"),
    )


def _calendar(bag: Bag) -> None:
    (tasks,) = bag.inputs("calendar")
    plan_calendar(
        tasks=tasks,
        attempts=bag.data / "attempts.csv",
        calendar=bag.work / "calendar.csv",
        windows=bag.work / "window.csv",
        **bag.settings("plan_calendar"),
    )


def _ledger(bag: Bag) -> None:
    (expenses,) = bag.inputs("expenses")
    keep_ledger(
        summary=bag.work / "summary.csv",
        deliverables=bag.work / "deliverables.csv",
        attempts=bag.data / "attempts.csv",
        windows=bag.work / "window.csv",
        tariffs=bag.inputs("tariffs"),
        expenses=expenses,
        ledger=bag.work / "ledger.csv",
        balance=bag.work / "balance.csv",
        packages=bag.work / "packages.csv",
        focus=bag.work / "focus.csv",
        **bag.settings("keep_ledger"),
    )


def _decision(bag: Bag) -> None:
    settings = bag.settings("decide")
    decide_from_files(
        {
            "seal": bag.data / "protocol/seal.json",
            "attempts": bag.data / "attempts.csv",
            "summary": bag.work / "summary.csv",
            "separation": bag.work / "separation.csv",
            "findings": bag.work / "separation.json",
            "deliverables": bag.work / "deliverables.csv",
            "balance": bag.work / "balance.csv",
            "windows": bag.work / "window.csv",
            "environments": bag.files("offers/*/environment.json"),
        },
        decision=bag.work / "decision.json",
        text=bag.work / "decision.md",
        paid=_paid(bag, settings.pop("money", None)),
        **settings,
    )


def _paid(bag: Bag, money: Mapping[str, Any] | None) -> Paid | None:
    """Return what the balance rests on; a bag of before the margins were told states no money."""
    if money is None:
        return None
    return read_paid(
        ledger=bag.work / "ledger.csv",
        windows=bag.work / "window.csv",
        tariffs=bag.inputs("tariffs"),
        **money,
    )


@dataclass(frozen=True)
class Step:
    """One computation and the files that it gives."""

    compute: Callable[[Bag], None]
    files: tuple[str, ...]


STEPS = {
    "tabulate_attempts": Step(_attempts, ("attempts.csv",)),
    "summarise_passes": Step(_summary, ("summary.csv", "deliverables.csv")),
    "separate_options": Step(_separation, ("separation.csv", "separation.json")),
    "plan_calendar": Step(_calendar, ("calendar.csv", "window.csv")),
    "keep_ledger": Step(_ledger, ("ledger.csv", "balance.csv", "packages.csv", "focus.csv")),
    "decide": Step(_decision, ("decision.json", "decision.md")),
}
"""The steps in their order; each reads the bag's attempts and what the steps before it gave."""


def rebuild(bag: Bag) -> dict[str, list[str]]:
    """Compute every table again; return each file's differences, none for one that is equal."""
    found: dict[str, list[str]] = {}
    for step in STEPS.values():
        try:
            step.compute(bag)
        except Exception as error:
            # The bag isn't trusted: whatever its content makes a step raise is its fault to name.
            reason = f"can't be computed from the attempts ({type(error).__name__}: {error})"
            found |= {name: [f"{name}: {reason}"] for name in step.files}
            continue
        found |= {name: differences(name, bag.data / name, bag.work / name) for name in step.files}
    return found
