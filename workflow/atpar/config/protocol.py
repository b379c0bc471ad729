"""What is fixed before any duration is seen [P1]."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from atpar.config.base import Model, Name
from atpar.config.kinds import CLASS_METRIC, CLASS_METRICS
from atpar.errors import did_you_mean

METRIC_ANSWERS: dict[str, tuple[str, ...]] = {
    "accuracy": ("single", "multiple"),
    "balanced_accuracy": ("single",),
    "macro_f1": ("single", "multiple"),
    "weighted_f1": ("single", "multiple"),
    "macro_precision": ("single", "multiple"),
    "macro_recall": ("single", "multiple"),
    "mcc": ("single",),
    "micro_f1": ("multiple",),
    "samples_f1": ("multiple",),
    "micro_precision": ("multiple",),
    "micro_recall": ("multiple",),
    "neg_hamming_loss": ("multiple",),
    "neg_log_loss": ("single", "multiple"),
    "neg_calibration_error": ("single",),
    "neg_mae": ("number",),
    "neg_rmse": ("number",),
    "r2": ("number",),
    "pearson": ("number",),
    "spearman": ("number",),
    "agreement": ("single", "multiple", "number"),
}
"""Metric -> kinds of answers that it is defined for (see `corpus.columns.label_kind`)."""

METRICS = tuple(METRIC_ANSWERS)
"""Metrics by name; for each of them a larger value is better."""

_OWN_METRIC = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def metric_name(name: str) -> str:
    """Return `name`, or say which metric was meant."""
    known = name in METRICS or CLASS_METRIC.fullmatch(name)
    if not known and not _OWN_METRIC.fullmatch(name):
        hint = did_you_mean(name, [*METRICS, *(f"{one}[class]" for one in CLASS_METRICS)])
        raise ValueError(f"unknown metric {name!r}; {hint} (one of your own: `module:function`)")
    return name


def metric_answers(name: str) -> tuple[str, ...]:
    """Return the kinds of answers that a metric is defined for; one of a person's own: all."""
    if CLASS_METRIC.fullmatch(name):
        return ("single", "multiple")
    return METRIC_ANSWERS.get(name, ("single", "multiple", "number"))


def metric_class(name: str) -> str | None:
    """Return the class that a metric is of; None for one of the whole."""
    of_class = CLASS_METRIC.fullmatch(name)
    return of_class[2] if of_class else None


Metric = Annotated[str, AfterValidator(metric_name)]
"""One of METRICS, one of CLASS_METRICS with its class in brackets, or `module:function`."""


class WarmUp(Model):
    """One warm-up rule for all variants [P13]."""

    entries: int = Field(32, ge=0)
    """Entries in one warm-up pass, spread evenly over the corpus' lengths."""
    passes: int = Field(1, ge=0)
    """How often they are run before the clock starts."""


class Tolerance(Model):
    """How far a variant may fall behind the reference variant."""

    reference: Name
    """The reference variant, measured on the same offer."""
    largest_drop: float = Field(0.01, ge=0)
    """Largest accepted drop of the main metric, overall. Equality is accepted."""
    largest_subgroup_drop: float | None = Field(0.05, ge=0)
    """The same within each subgroup; null: subgroups are reported, not judged."""
    smallest_agreement: float | None = Field(None, ge=0, le=1)
    """Smallest share of entries that get the reference's label; null: reported, not judged."""
    smallest_subgroup_agreement: float | None = Field(None, ge=0, le=1)
    """The same within each subgroup."""


class Reproduction(Model):
    """What repetitions must reproduce [P23]."""

    kind: Literal["identical", "bounded", "acceptable"] = "acceptable"
    """Identical predictions; scores within `absolute`/`relative`; or only the quality rule."""
    absolute: float = Field(1e-3, ge=0)
    """`bounded`: largest absolute difference of a score. For numbers also what counts as the same
    answer in `agreement`."""
    relative: float = Field(1e-2, ge=0)
    """`bounded`: and this much more, relative to the score that is to be reproduced."""


class Separation(Model):
    """The rule that tells two options apart [P21]; chosen from benchmarks/README-separation.md."""

    rule: Literal["ranks-and-gap", "ranges-and-gap"] = "ranks-and-gap"
    """`ranks-and-gap`: the exact rank test reaches `level` (with five passes each: all of one are
    quicker than all of the other), and the medians' gap exceeds `gap_factor` x the larger middle
    spread (the range of the middle half). `ranges-and-gap`: the ranges don't overlap, and the gap
    exceeds `gap_factor` x the larger spread; it sees less with every repetition added."""
    level: float = Field(0.01, gt=0, lt=1)
    """Level of the rank test."""
    gap_factor: float = Field(1.0, ge=0)
    """How many times the spread the gap between the medians must exceed."""
    position_effect: float = Field(0.05, ge=0, le=1)
    """Level of the test for an effect of the place in the rotation."""


class Extension(Model):
    """May repetitions be added to all variants when the series doesn't separate them?"""

    mode: Literal["none", "propose", "automatic"] = "propose"
    """Never; or the decision says that one more block is allowed, and how to run it; or snakemake
    goes on with it by itself, on a machine that measures every option, until the leading options
    are told apart or the limit is reached."""
    limit: int = Field(10, ge=1)
    """Largest number of repetitions of each variant, the first ones included."""


class Protocol(Model):
    """The decision and its rules; sealed with the corpus before the first pass."""

    question: str = (
        "Which configuration handles every entry, meets the minimum quality, ends before the "
        "deadline, at the lowest engaged budget?"
    )
    """The decision that the campaign is made for."""
    scenario: Literal["offline"] = "offline"
    """A fixed corpus processed as a whole; says nothing of an interactive service [P3]."""
    metric: Metric = "accuracy"
    """The main metric; larger is better. One label an entry: `accuracy`, `balanced_accuracy`,
    `macro_f1`, `weighted_f1`, `macro_precision`, `macro_recall`, `mcc`, `neg_log_loss`,
    `neg_calibration_error`, of one class `f1[class]`, `precision[class]`, `recall[class]`. Several
    labels: `accuracy` (the whole set is right), `micro_f1`, `macro_f1`, `weighted_f1`,
    `samples_f1`, precision and recall (`micro_`, `macro_`, of one class), `neg_hamming_loss`,
    `neg_log_loss`. Numbers: `neg_mae`, `neg_rmse`, `r2`, `pearson`, `spearman`. Any: `agreement`
    (with the reference run), or a function of your own as `module:function`. Averages run over the
    classes that occur in the reference answers judged."""
    metrics: list[Metric] = Field(default_factory=lambda: ["accuracy", "macro_f1"])
    """Metrics that are reported besides the main one."""
    minimum: float = 0.0
    """Smallest accepted value of the main metric. All limits are compared exactly, as decimals of
    twelve places, and equality is accepted."""
    label_threshold: float = Field(0.5, gt=0, lt=1)
    """Multi-label heads, and binary ones of a single output: the score from which a label counts as
    predicted. Equality counts."""
    tolerance: Tolerance
    """How far a variant may fall behind the reference."""
    subgroups: list[str] = Field(default_factory=lambda: ["bucket"])
    """Columns whose values are judged apart: `bucket`, `label`, or a column of the corpus."""
    subgroup_values: dict[str, list[str]] = Field(default_factory=dict)
    """Values that a subgroup column should have; one without an entry is listed as insufficient."""
    subgroup_minimum: float | None = None
    """Smallest accepted value of the main metric in each subgroup; null: not judged."""
    subgroup_size: int = Field(20, ge=1)
    """A subgroup with fewer entries is reported, not judged."""
    reproduction: Reproduction = Reproduction()
    """What repetitions must reproduce."""
    warm_up: WarmUp = WarmUp()
    """What runs before the clock starts."""
    repetitions: int = Field(5, ge=1)
    """Complete passes of each variant on each offer [P16]."""
    separation: Separation = Separation()
    """The rule that tells two options apart."""
    extension: Extension = Extension()
    """Whether repetitions may be added."""
    seed: int = Field(0, ge=0)
    """Seed of every random generator in a pass [P23]."""
    seeds: list[Annotated[int, Field(ge=0)]] | None = Field(None, min_length=2)
    """Of a stochastic protocol, shared by all variants: repetition n takes the n-th, then the first
    again. Their results are kept apart, and `seed` is left to the draws of intervals."""
    deterministic: bool = True
    """Ask torch for deterministic algorithms where they exist."""
    pass_timeout_s: float = Field(3600, gt=0)
    """A pass that takes longer, start-up included, ends as an attempt with status `timeout`."""
    busy_device: Literal["note", "refuse"] = "note"
    """Others use the device when a pass starts, or it can't be told whether they do: note it in the
    row, or don't start."""
    minimum_span_s: float = Field(10, ge=0)
    """A measured span below this can't carry a decision: the campaign is labelled screening."""
    exclusion: str = (
        "A pass is excluded only for a cause outside the variant, documented with its evidence in "
        "the exclusions table; the rule is the same for all variants and the row stays."
    )
    """The rule by which a pass is excluded [P19]."""
    control: list[Name] | None = Field(None, min_length=2, max_length=2)
    """Two names of one setting (A/A), ranked as one option; if they are told apart, the series is
    flagged."""
    deliverables: list[Name] = Field(default_factory=lambda: ["corpus"], min_length=1)
    """Expected deliverables: each accepted one counts once, however often it was repeated [P33]."""
    deliverable_column: str | None = None
    """Column of the corpus that names each entry's deliverable; null: all belong to the one."""
    failed_passes_accepted: int = Field(0, ge=0)
    """An option with more passes whose last attempt failed isn't admissible [P24]; fewer than
    `repetitions`."""
    deadline: str | None = None
    """Local date and time (`2026-12-04T18:00`) by which the deliverables are needed; null: none."""
    zone: str = "UTC"
    """Time zone of the deadline."""

    @model_validator(mode="after")
    def _limit_covers_repetitions(self) -> "Protocol":
        if self.extension.mode != "none" and self.extension.limit < self.repetitions:
            raise ValueError(
                f"extension.limit is {self.extension.limit}, below repetitions {self.repetitions}"
            )
        return self

    @model_validator(mode="after")
    def _one_pass_must_end_well(self) -> "Protocol":
        if self.failed_passes_accepted >= self.repetitions:
            raise ValueError(
                f"failed_passes_accepted is {self.failed_passes_accepted}, so that all of "
                f"{self.repetitions} repetitions might fail; accept fewer than are made"
            )
        return self

    @model_validator(mode="after")
    def _seeds_can_differ(self) -> "Protocol":
        if self.seeds is None:
            return self
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds holds one seed twice: {self.seeds}")
        if len(self.seeds) > self.repetitions:
            raise ValueError(
                f"{len(self.seeds)} seeds need as many repetitions; there are {self.repetitions}"
            )
        if self.reproduction.kind != "acceptable":
            raise ValueError(
                "passes with other seeds give other outputs, so with `seeds` only the quality can "
                "be reproduced; set reproduction.kind to acceptable"
            )
        return self

    @model_validator(mode="after")
    def _minimum_can_be_reached(self) -> "Protocol":
        if self.metric.startswith("neg_") and self.minimum >= 0:
            raise ValueError(
                f"the metric {self.metric} is a loss with its sign turned, so never above 0, and a "
                f"minimum of {self.minimum:g} accepts no loss at all; state a minimum below 0"
            )
        return self

    @model_validator(mode="after")
    def _expected_values_are_of_subgroups(self) -> "Protocol":
        for name in self.subgroup_values:
            if name not in self.subgroups:
                raise ValueError(
                    f"subgroup_values names the column {name!r}, which isn't among `subgroups`; "
                    + did_you_mean(name, self.subgroups)
                )
        return self

    @model_validator(mode="after")
    def _deliverables_are_told_apart(self) -> "Protocol":
        if len(set(self.deliverables)) != len(self.deliverables):
            raise ValueError(f"a deliverable is named twice: {self.deliverables}")
        if self.deliverable_column is None and len(self.deliverables) > 1:
            raise ValueError(
                f"{len(self.deliverables)} deliverables need `deliverable_column`, the column of "
                "the corpus that says which entries belong to which"
            )
        return self
