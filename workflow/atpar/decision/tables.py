"""Schemas of the decision room's tables; the schema is the documentation of the columns.

All cells are text (see `atpar.rows`): a number keeps the digits it was written with, and a
value that is missing is an empty cell whose reason stands in a column beside it, never 0.
"""

import pandera.pandas as pa

from atpar.engine.clocks import PHASES as TIMED
from atpar.engine.clocks import START_UP
from atpar.money.tables import INSTANT, NUMBER, TRUTH, column

STATUSES = (
    "ok",
    "out_of_memory",
    "error",
    "signal",
    "timeout",
    "interrupted",
    "refused",
)
PHASES = (*START_UP, "measured", "write", "done")
"""Phases that an attempt reaches."""

MEMORY = {
    "parameter_bytes": "bytes of the model's parameters as loaded",
    "peak_host_rss_start_up_bytes": "peak resident set of the process, up to the measured span",
    "peak_host_rss_measured_bytes": "peak resident set of the process in the measured span",
    "peak_device_allocated_warm_up_bytes": "peak of tensors on the device in the warm-up",
    "peak_device_reserved_warm_up_bytes": "peak of the allocator's pool in the warm-up",
    "peak_device_allocated_measured_bytes": "peak of tensors on the device in the measured span",
    "peak_device_reserved_measured_bytes": "peak of the allocator's pool in the measured span",
    "device_used_by_process_bytes": "device memory of the process by the driver's count",
}
"""Memory counters; each covers what it says, and they are never added [P24]."""

COUNT = pa.Check.str_matches(r"^\d+$")
DURATION = pa.Check.str_matches(r"^\d+(\.\d+)?(e-\d+)?$")
VALUE = pa.Check.str_matches(r"^-?\d+(\.\d+)?(e-?\d+)?$")
RATIO = pa.Check.str_matches(r"^\d+(\.\d+)?(e-?\d+)?$")
SERIES = pa.Check.str_matches(r"^\d[\d.e-]*(;\d[\d.e-]*)*$")
VERDICT = pa.Check.isin(["accepted", "rejected", "not judged"])


def _optional(description: str, check: pa.Check | None = None) -> pa.Column:
    return column(description, check, missing=True)


ATTEMPTS = pa.DataFrameSchema(
    {
        "attempt_id": column("offer/variant/repetition/number", unique=True),
        "campaign": column("campaign under which it was tried"),
        "offer": column("offer"),
        "variant": column("variant"),
        "series": _optional("series of the variant"),
        "repetition": column("repetition of the pass, from 1", COUNT),
        "attempt_number": column("number of the attempt at this pass, from 1", COUNT),
        "counted": column("is it the last attempt of its pass, and not excluded?", TRUTH),
        "excluded": column("is it excluded for a documented external cause?", TRUTH),
        "exclusion_cause": _optional("that cause, and its evidence"),
        "seed": _optional("seed of its random generators", COUNT),
        "planned_rank": _optional("place in the whole schedule, from 0", COUNT),
        "round": _optional("round of the rotation, from 1", COUNT),
        "position": _optional("place within the round, from 0", COUNT),
        "session_id": _optional("run of the workflow in which it was tried"),
        "status": column("how it ended", pa.Check.isin(STATUSES)),
        "phase": _optional("phase that it reached", pa.Check.isin(PHASES)),
        "reason": _optional("why it ended so"),
        "exit_code": _optional("exit code of the worker", VALUE),
        "signal": _optional("signal that ended the worker", VALUE),
        "started_utc": _optional("start by the node's clock"),
        "finished_utc": _optional("end by the node's clock"),
        "zone": _optional("the node's offset from UTC, as `+HH:MM`"),
        "clock_disagreement_s": _optional("wall clock minus monotonic clock over it", VALUE),
        "main_time_s": _optional("main time [P14]", DURATION),
        "main_time_reason": _optional("why there is no main time"),
        "wall_time_s": _optional("from the worker's start to its end", DURATION),
        **{f"{one}_s": _optional(f"time of the phase {one}", DURATION) for one in TIMED},
        "phase_reasons": _optional("why a phase has no time"),
        "entries_expected": _optional("entries of the evaluation corpus", COUNT),
        "entries_completed": _optional("entries that have a prediction", COUNT),
        "expected_ids": _optional("number of expected identifiers", COUNT),
        "observed_ids": _optional("number of identifiers in the prediction file", COUNT),
        "ids_match": _optional("are the sets of identifiers equal?", TRUTH),
        "metric": column("name of the main metric"),
        "metric_value": _optional("its value", VALUE),
        "corpus_accepted": _optional("verdict of the pass; empty: not judged", TRUTH),
        "failed_checks": _optional("names of the checks that failed, parted by semicolons"),
        "tokens_real": _optional("tokens of the entries, after truncation", COUNT),
        "tokens_padded": _optional("the same with padding", COUNT),
        "entries_truncated": _optional("entries that were cut", COUNT),
        **{name: _optional(description, COUNT) for name, description in MEMORY.items()},
        "memory_reasons": _optional("why a counter has no value"),
        "energy_j": _optional("energy of all its cards over the measured span", VALUE),
        "energy_reason": _optional("why it isn't known, by the validity of the counter"),
        "batch_size": _optional("entries in a batch", COUNT),
        "token_budget": _optional("tokens in a batch, with padding", COUNT),
        "quantization": _optional("way to quantize"),
        "precision": _optional("precision asked for"),
        "order": _optional("order of the work"),
        "padding": _optional("padding rule"),
        "max_length": _optional("longest input asked for; empty: the model's limit", COUNT),
        "attention_used": _optional("attention backend in effect"),
        "device": _optional("device it ran on"),
        "seal_digest": _optional("digest of the sealed protocol"),
        "evaluation_digest": _optional("digest of the evaluation corpus"),
        "model_digest": _optional("digest of the model"),
        "tokenizer_digest": _optional("digest of the tokenizer"),
        "environment_digest": _optional("digest of the machine's environment"),
        "predictions_path": _optional("where its predictions are kept"),
        "notes": _optional("what else was noted"),
        "definition": column("version of the record's definition", NUMBER),
    },
    strict=True,
    ordered=True,
    name="attempts",
)
"""One row an attempt, interruptions and failures included [P17]."""

SUMMARY = pa.DataFrameSchema(
    {
        "offer": column("offer"),
        "variant": column("variant"),
        "series": _optional("series of the variant"),
        "recovers": _optional("variant whose failures it recovers"),
        "durations_s": _optional("main times in measured order", SERIES),
        "median_s": _optional("their median", DURATION),
        "min_s": _optional("the smallest", DURATION),
        "max_s": _optional("the largest", DURATION),
        "spread_s": _optional("largest minus smallest", DURATION),
        **{f"{one}_median_s": _optional(f"median of the phase {one}", DURATION) for one in TIMED},
        "successes": column("counted passes that ended well", COUNT),
        "failures": column("attempts that failed and aren't excluded", COUNT),
        "failed_passes": column("passes whose counted attempt failed", COUNT),
        "failure_kinds": _optional("status and phase of the failures, with their number"),
        "excluded": column("attempts excluded for an external cause", COUNT),
        "attempts": column("attempts in all", COUNT),
        "accepted_passes": column("counted passes whose corpus was accepted", COUNT),
        "planned_passes": column("passes that the protocol plans", COUNT),
        "missing_passes": column("planned passes without a counted attempt", COUNT),
        "sessions": column("runs of the workflow in which they were measured", COUNT),
        "entries": _optional("entries of a pass", COUNT),
        "entries_per_s": _optional("entries / median", RATIO),
        "tokens_per_s": _optional("real tokens / median", RATIO),
        "padding_ratio": _optional("tokens with padding / real tokens", RATIO),
        "peak_memory_bytes": _optional("largest peak of the counted passes", COUNT),
        "peak_memory_counter": _optional("what that peak counts"),
        "startup_median_s": _optional(
            "median of start + import + load + compile + warm-up", DURATION
        ),
        "attempts_wall_s": _optional("wall time of all attempts, recovery included", DURATION),
        "attempts_without_wall_time": column("attempts whose wall time isn't known", COUNT),
        "metric": column("name of the main metric"),
        "metric_value": _optional("median over the counted passes", VALUE),
        "metric_reason": _optional("why there is none"),
        "metric_difference": _optional("metric minus that of the reference pass", VALUE),
        "metric_difference_low": _optional("lower end of its 95 % interval", VALUE),
        "metric_difference_high": _optional("upper end", VALUE),
        "metric_difference_reason": _optional("why there is no difference or no interval"),
        "changed_labels": _optional("entries with another label than in the reference pass", COUNT),
        "quality_verdict": column("verdict over the counted passes", VERDICT),
        "failed_checks": _optional("names of the checks that failed, parted by semicolons"),
        "entries_truncated": _optional("entries that were cut in a pass", COUNT),
        "durations_reason": _optional("why there are no durations"),
        "seal_digest": _optional("digest of the protocol under which it was measured"),
        "definition": column("version of how these figures are derived", NUMBER),
    },
    strict=True,
    ordered=True,
    name="summary",
)
"""One row an option [P19]. No column holds a percentile: five passes carry none [P20]."""

SEPARATION = pa.DataFrameSchema(
    {
        "offer_a": column("offer of the option with the smaller median"),
        "variant_a": column("its variant"),
        "offer_b": column("offer of the other option"),
        "variant_b": column("its variant"),
        "passes_a": column("durations of the first", COUNT),
        "passes_b": column("durations of the other", COUNT),
        "median_a_s": column("median of the first", DURATION),
        "median_b_s": column("median of the other", DURATION),
        "gap_s": column("difference of the medians", DURATION),
        "larger_spread_s": column("larger of the two spreads", DURATION),
        "larger_middle_spread_s": column("larger of the two ranges of the middle half", DURATION),
        "rank_p_value": column("exact rank test of the two sets of durations", RATIO),
        "ranges_overlap": column("do the ranges overlap?", TRUTH),
        "separated": column("does the sealed rule tell them apart?", TRUTH),
        "reason": column("why, or why not"),
        "ratio": column("median of the other / median of the first", RATIO),
        "ratio_low": _optional("lower end of its 95 % bootstrap interval", RATIO),
        "ratio_high": _optional("upper end", RATIO),
        "p_value": _optional("exact permutation test of the difference of means", RATIO),
        "p_value_reason": _optional("why there is none"),
        "control": column("is this the A/A control?", TRUTH),
        "seal_digest": _optional("digest of the protocol under which both were measured"),
        "definition": column("version of how these figures are derived", NUMBER),
    },
    strict=True,
    ordered=True,
    name="separation",
)
"""One row a pair of options that have durations [P21]."""

DELIVERABLES = pa.DataFrameSchema(
    {
        "offer": column("offer"),
        "variant": column("variant"),
        "deliverable": column("name of the expected deliverable"),
        "accepted": column("was it delivered and accepted?", TRUTH),
        "entries": _optional("entries of it that were delivered and accepted", COUNT),
        "attempt_id": _optional("the pass that delivered it"),
        "reason": _optional("why it isn't accepted"),
        "seal_digest": _optional("digest of the protocol under which it was judged"),
        "definition": column("version of what counts as delivered", NUMBER),
    },
    strict=True,
    ordered=True,
    unique=["offer", "variant", "deliverable"],
    name="deliverables",
)
"""One row an option and expected deliverable: repetitions add none [P33]."""

__all__ = ["ATTEMPTS", "DELIVERABLES", "INSTANT", "SEPARATION", "SUMMARY"]
