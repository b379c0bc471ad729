"""Draw the rental calendar, with what is measured so far."""

from atpar.calendar.draw import draw_calendar
from atpar.stage import stage

with stage(snakemake) as settings:
    draw_calendar(
        tasks=snakemake.input.tasks,
        journals=snakemake.input.journals,
        calendar=snakemake.output.calendar,
        ics=snakemake.output.ics,
        svg=snakemake.output.svg,
        png=snakemake.output.png,
        campaign=settings["campaign"],
        offers=settings["offers"],
        passes=settings["passes"],
        zone=settings["zone"],
        deadline=settings["deadline"],
    )
