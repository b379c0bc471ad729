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


def offer_column(name):
    """Return a resource function: a column of the pass's offer; empty asks for nothing."""
    return lambda w: getattr(PLAN.offer(w.offer), name) or ""


def whole_node(w):
    """Return the options of an allocation without neighbours, on the offer's node if it has one."""
    node = PLAN.offer(w.offer).node
    return f"--exclusive --nodelist={node}" if node else "--exclusive"


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
