"""Configuration, the plan of passes, and the helpers that all rules share.

Everything here runs at each parse, so nothing heavy is imported and nothing is written.
"""

import os
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import contains_wildcard

try:
    import atpar.config.load
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"{error.name!r} isn't installed in the Python that runs Snakemake ({sys.executable}); "
        "run `make install`, then `source .venv/bin/activate`, or create the environment of "
        "environment.yml"
    ) from None
from atpar.calendar.cap import check_cap
from atpar.calendar.current import check_deadline
from atpar.calendar.measured import as_row
from atpar.calendar.planned import planned_starts, window_summary
from atpar.canonical import canonical_json
from atpar.carry.receipts import look, with_measured_rounds
from atpar.config.load import load_plan
from atpar.config.overrides import with_overrides
from atpar.config.written import as_written, refuse_odd_numbers, refuse_repeated_keys
from atpar.engine.identify import Card, offer_here, visible_gpus
from atpar.errors import AtparError
from atpar.journal.attempts import read_attempts
from atpar.model.files import model_files, tokenizer_files
from atpar.money.expenses import plan_expenses
from atpar.money.priced import check_offers_priced, engaged_tariffs, load_tariffs
from atpar.protocol.codedigest import code_digest
from atpar.protocol.schedule import schedule
from atpar.protocol.software import software_digest
from atpar.protocol.unchanged import check_seal
from atpar.stage import ENVIRONMENT

SCRIPTS = Path(workflow.basedir) / "workflow" / "scripts"
GIVEN = tuple(workflow.config_settings.config_args or ())

# Before the first script: a library reads them when it is loaded.
os.environ.update(ENVIRONMENT | os.environ)

try:
    # A job's own process reads what the main one has looked at.
    WRITTEN = as_written(workflow.configfiles, GIVEN) if workflow.is_main_process else []
    refuse_repeated_keys(WRITTEN)
    # Scripts read the same values: Snakemake's own reading of GIVEN makes text of nested ones.
    config.update(with_overrides(config, GIVEN))
    PLAN = load_plan(config, given=GIVEN)
    # Behind the types, whose messages say more of a number where text is expected.
    refuse_odd_numbers(WRITTEN)
    TARIFFS = load_tariffs(PLAN.campaign.tables.tariffs)
    check_offers_priced(PLAN, TARIFFS)
    plan_expenses(PLAN)  # read for its faults alone: they are told now, not after the passes
    CAMPAIGN = PLAN.campaign
    RESULTS = f"results/{CAMPAIGN.campaign}"
    check_deadline(CAMPAIGN.protocol)
    check_seal(
        CAMPAIGN.protocol.model_dump(mode="json"),
        Path(RESULTS, "protocol", "seal.json"),
        measured=any(Path(RESULTS, "journal").glob("*.jsonl")),
    )
except AtparError as error:
    raise WorkflowError(str(error)) from None


def literal(option, paths):
    """Return the paths that an option names; refuse those that Snakemake would fill in.

    It has no way to write braces that are part of a name.
    """
    for path in paths:
        if contains_wildcard(path):
            raise WorkflowError(
                f"{option} names {path!r}: Snakemake takes a name in braces for a wildcard; rename "
                "the file or folder, or link to it under a name without braces"
            )
    return paths


for name, value in CAMPAIGN.tables.model_dump().items():
    literal(f"tables.{name}", value if isinstance(value, list) else [value])


def offer_card(name):
    """Return what an offer says of its GPUs: names, and how many a lot holds."""
    offer = PLAN.offer(name)
    return Card(
        offer=name,
        gpu=offer.gpu,
        device_name=offer.device_name,
        gpus_per_lot=engaged_tariffs(offer, TARIFFS)[0].gpus_per_lot,
        lots=offer.lots,
    )


def found_here():
    """Return the offer that this machine's GPUs say it is."""
    try:
        return (offer_here([offer_card(offer.offer) for offer in PLAN.offers], visible_gpus()),)
    except AtparError as error:
        raise WorkflowError(str(error)) from None


HERE = found_here() if CAMPAIGN.here == "auto" else PLAN.here
VARIANTS = tuple(variant.variant for variant in PLAN.variants)
CARRIED = look(
    Path(RESULTS),
    [offer.offer for offer in PLAN.offers],
    HERE,
    shared=CAMPAIGN.shared is not None,
)
literal(f"{RESULTS}/incoming", map(str, CARRIED.waiting))
PLAN = with_measured_rounds(PLAN, CARRIED)

try:
    check_cap(PLAN)
except AtparError as error:
    raise WorkflowError(str(error)) from None

PLACES = {
    (place.offer, place.variant, place.repetition): place
    for place in schedule(HERE, VARIANTS, PLAN.repetitions, PLAN.resumed)
}


@cache
def attempts_so_far():
    """Return all attempts in the results' journals, in the form that the calendar reads.

    A job's own process doesn't plan, so it doesn't read them.
    """
    if not workflow.is_main_process:
        return []
    journals = sorted(Path(RESULTS, "journal").glob("*.jsonl"))
    return [as_row(record) for path in journals for record in read_attempts(path)]


try:
    PLANNED_STARTS = planned_starts(PLAN, PLACES.values(), attempts=attempts_so_far())
except AtparError as error:
    raise WorkflowError(str(error)) from None


wildcard_constraints:
    offer="|".join(re.escape(offer.offer) for offer in PLAN.offers),
    variant="|".join(map(re.escape, VARIANTS)),
    repetition=r"[1-9][0-9]*",


def one_of(names):
    """Return a wildcard constraint that admits `names` alone (nothing, if there are none)."""
    return "|".join(map(re.escape, names)) or r"(?!)"


def settings(script, packages=(), modules=(), **values):
    """Return a rule's params: its settings with digests of its code and of what it computes with.

    One canonical JSON string, since Snakemake compares params as a set of reprs. `packages` are
    the distributions whose versions matter for the rule's results; `modules` run in a process of
    their own and are therefore not imported by the script.
    """
    code = code_digest(SCRIPTS / f"{script}.py", modules)
    text = canonical_json({**values, "code": code, "software": software_digest(packages)})
    # Snakemake takes a name in braces for a wildcard. In JSON only text has a brace before a name,
    # and text may spell it by its number.
    return re.sub(r'\{(?=[^"}])', r"\\u007b", text)


def place(offer, variant, repetition):
    """Return where a pass stands in the rotated schedule: rank, round, position."""
    return PLACES[offer, variant, int(repetition)].numbers()


def planned_text(offer, variant, repetition):
    """Return a pass's place in order and calendar, for the dry run and the person watching."""
    _, _, when = PLANNED_STARTS[offer, variant, int(repetition)]
    rank = place(offer, variant, repetition)["rank"]
    return f"pass {rank + 1} of {len(PLACES)}, planned {when}"


def plan_text(_):
    """Return the windows, and what covers them at what cost, where it is a dry run that asks."""
    if not workflow.dryrun:
        return f"Done: {RESULTS}/decision.md, {RESULTS}/report.html"
    return window_summary(PLAN, PLACES.values(), attempts=attempts_so_far())


def rank_priority(wildcards):
    """Return a priority that falls with the rank, so that passes run in the rotated order."""
    rank = place(wildcards.offer, wildcards.variant, wildcards.repetition)["rank"]
    return len(PLACES) - rank


def pass_records(offers=tuple(offer.offer for offer in PLAN.offers)):
    """Return the record files of these offers' passes: planned here, elsewhere as carried in."""
    return [
        f"{RESULTS}/passes/{offer}/{variant}/{repetition}.json"
        for offer in offers
        for variant in VARIANTS
        for repetition in repetitions_of(offer, variant)
    ]


def repetitions_of(offer, variant):
    """Return the repetitions of an option: the planned ones here, elsewhere those carried in."""
    planned = range(1, PLAN.repetitions + 1)
    if offer in HERE:
        return list(planned)
    return [
        repetition
        for repetition in planned
        if CARRIED.has(f"{RESULTS}/passes/{offer}/{variant}/{repetition}.json")
    ]


def measured_options():
    """Return (offer, variant) of every option that is measured here or was carried in."""
    return [
        (offer.offer, variant)
        for offer in PLAN.offers
        for variant in VARIANTS
        if repetitions_of(offer.offer, variant)
    ]


def measured_environments():
    """Return the environment of each offer that has an option."""
    return sorted({f"{RESULTS}/offers/{offer}/environment.json" for offer, _ in measured_options()})
