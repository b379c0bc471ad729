"""Place tasks and passes in time, and find each offer's window."""

from atpar.calendar.plan import plan_calendar
from atpar.stage import stage

with stage(snakemake) as settings:
    plan_calendar(
        tasks=snakemake.input.tasks,
        attempts=snakemake.input.attempts,
        calendar=snakemake.output.calendar,
        windows=snakemake.output.windows,
        offers=settings["offers"],
        passes=settings["passes"],
        zone=settings["zone"],
        deadline=settings["deadline"],
    )
