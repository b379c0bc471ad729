"""Is a pass accepted? Minimum, tolerance to the reference, subgroups, reproduction [P4], [P22]."""

from dataclasses import dataclass, field
from typing import Any

from atpar.quality.boundary import drop, reaches, within
from atpar.quality.values import Value


@dataclass
class Judgement:
    """What was judged of a pass; `failed` names checks, `reasons` are sentences."""

    failed: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)

    def fail(self, check: str, reason: str) -> None:
        """Note that a check failed."""
        if check not in self.failed:
            self.failed.append(check)
        self.reasons.append(reason)

    def leave(self, reason: str) -> None:
        """Note that a check couldn't be made, though the protocol asks for it."""
        self.unjudged.append(reason)

    @property
    def verdict(self) -> str:
        """`rejected` if a check failed, `not judged` if one couldn't be made, else `accepted`."""
        if self.failed:
            return "rejected"
        return "not judged" if self.unjudged else "accepted"

    def as_values(self) -> dict[str, Any]:
        """Return verdict, failed checks and reasons as the quality file holds them."""
        return {
            "verdict": self.verdict,
            "failed": self.failed,
            "reasons": [*self.reasons, *self.unjudged],
        }


def judge(
    protocol: dict[str, Any],
    value: Value,
    reference: Value,
    agreement: Value,
    judgement: Judgement,
    place: str = "",
) -> None:
    """Judge the main metric of a whole pass, or of the deliverable named by `place`."""
    metric = protocol["metric"]
    tolerance = protocol["tolerance"]
    suffix = f" of {place}" if place else ""
    if value.value is None:
        judgement.leave(f"{metric}{suffix} is undefined: {value.reason}")
        return
    if not reaches(value.value, protocol["minimum"]):
        judgement.fail(
            "minimum",
            f"{metric}{suffix} is {value.value:.6g}, below the minimum {protocol['minimum']:.6g}",
        )
    if reference.value is None:
        judgement.leave(f"the tolerance of {metric}{suffix} can't be judged: {reference.reason}")
    elif not within(reference.value, value.value, tolerance["largest_drop"]):
        judgement.fail(
            "tolerance",
            f"{metric}{suffix} is {drop(reference.value, value.value):.6g} below the reference's "
            f"{reference.value:.6g}; at most {tolerance['largest_drop']:.6g} is accepted",
        )
    smallest = tolerance["smallest_agreement"]
    if smallest is None:
        return
    if agreement.value is None:
        judgement.leave(f"agreement{suffix} can't be judged: {agreement.reason}")
    elif not reaches(agreement.value, smallest):
        judgement.fail(
            "agreement",
            f"{agreement.value:.6g} of the answers{suffix} are the reference's, "
            f"below {smallest:.6g}",
        )


def judge_subgroup(
    protocol: dict[str, Any],
    group: dict[str, Any],
    reference: Value,
    agreement: Value,
    judgement: Judgement,
) -> dict[str, Any]:
    """Return `group` with judged, verdict and reason; a failure is noted in `judgement` too.

    A subgroup below the stated size is reported, not judged: a single entry would decide.
    """
    tolerance = protocol["tolerance"]
    limits = {
        "subgroup_minimum": protocol["subgroup_minimum"],
        "subgroup_tolerance": tolerance["largest_subgroup_drop"],
        "subgroup_agreement": tolerance["smallest_subgroup_agreement"],
    }
    if all(limit is None for limit in limits.values()):
        return {**group, "judged": False, "verdict": "not judged", "reason": "no limit is sealed"}
    if group["entries"] < protocol["subgroup_size"]:
        reason = f"{group['entries']} entries, below the {protocol['subgroup_size']} needed"
        return {**group, "judged": False, "verdict": "insufficient", "reason": reason}
    value = group["value_of_metric"]
    if value is None:
        reason = f"{group['metric']} is undefined here: {group['undefined']}"
        return {**group, "judged": False, "verdict": "undefined", "reason": reason}
    failures = dict(_subgroup_failures(limits, group["metric"], value, reference, agreement))
    where = f"{group['column']} {group['value']}"
    for check, reason in failures.items():
        judgement.fail(check, f"{where}: {reason}")
    if reference.value is None and limits["subgroup_tolerance"] is not None:
        judgement.leave(f"{where}: the tolerance can't be judged: {reference.reason}")
        if not failures:
            return {**group, "judged": False, "verdict": "not judged", "reason": reference.reason}
    verdict = "rejected" if failures else "accepted"
    return {
        **group,
        "judged": True,
        "verdict": verdict,
        "reason": "; ".join(failures.values()) or None,
    }


def _subgroup_failures(
    limits: dict[str, float | None],
    metric: str,
    value: float,
    reference: Value,
    agreement: Value,
):
    minimum, largest = limits["subgroup_minimum"], limits["subgroup_tolerance"]
    smallest = limits["subgroup_agreement"]
    if minimum is not None and not reaches(value, minimum):
        yield "subgroup_minimum", f"{metric} is {value:.6g}, below the minimum {minimum:.6g}"
    known = largest is not None and reference.value is not None
    if known and not within(reference.value, value, largest):
        yield (
            "subgroup_tolerance",
            f"{metric} is {drop(reference.value, value):.6g} below the reference's "
            f"{reference.value:.6g}; at most {largest:.6g} is accepted",
        )
    paired = smallest is not None and agreement.value is not None
    if paired and not reaches(agreement.value, smallest):
        yield (
            "subgroup_agreement",
            f"{agreement.value:.6g} of the answers are the reference's, below {smallest:.6g}",
        )
