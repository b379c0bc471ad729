"""What a cluster executor is asked for: each pass alone on a node that has its offer's GPU.

Without one these resources are only words: they trigger no rerun and limit nothing. Columns
`partition`, `gres`, `constraint` and `node` of the offers table; see profiles/README.md.
"""

import os
from functools import cache

from atpar.calendar.tasks import read_tasks
from atpar.calendar.walltime import planned_duration, walltime_minutes
from atpar.engine.parents import SESSION, session_id

# A cluster job is a Snakemake of its own; it belongs to the run that sends it away.
os.environ.setdefault(SESSION, session_id(os.getpid()))

START_AND_END_MIN = 10
"""Minutes beside the pass itself: Snakemake's start on the node, and the end of a killed pass."""
ALL_CPUS = -1
"""What the Slurm plugin takes for: ask for no number of CPUs. The allocation is the whole node."""


def of_offer(value):
    """Return a resource: what `value` gives for the pass's offer; empty asks for nothing.

    A function is called for each pass of the plan, which takes long in a large campaign: what is
    the same for all offers stands as it is.
    """
    values = {offer.offer: value(offer) or "" for offer in PLAN.offers}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return lambda w: values[w.offer]


def offer_column(name):
    """Return a resource: a column of the pass's offer."""
    return of_offer(lambda offer: getattr(offer, name))


def whole_node():
    """Return a resource: an allocation without neighbours, on the offer's node if it has one."""
    return of_offer(
        lambda offer: f"--exclusive --nodelist={offer.node}" if offer.node else "--exclusive"
    )


@cache
def attempts_by_option():
    """Return (offer, variant) -> its attempts so far."""
    found = {}
    for row in attempts_so_far():
        found.setdefault((row["offer"], row["variant"]), []).append(row)
    return found


@cache
def calendar_tasks():
    """Return the rows of the calendar table."""
    return read_tasks(Path(CAMPAIGN.tables.calendar))


@cache
def option_minutes(offer, variant):
    """Return the walltime of a pass of an option."""
    planned = planned_duration(
        calendar_tasks(), offer, variant, attempts_by_option().get((offer, variant), [])
    )
    return walltime_minutes(planned, CAMPAIGN.protocol.pass_timeout_s, START_AND_END_MIN)


def pass_minutes(w):
    """Return the walltime of a pass: what the calendar plans for it, with a margin."""
    return option_minutes(w.offer, w.variant)
