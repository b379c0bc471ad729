"""Render the report page and its charts from the campaign's tables."""

from pathlib import Path

from atpar.report.page import render_report
from atpar.stage import stage

with stage(snakemake) as settings:
    render_report(
        folder=Path(snakemake.input.decision).parent,
        page=Path(snakemake.output.page),
        charts={name: Path(snakemake.output[name]) for name in ("durations", "order", "calendar")},
        style=settings["style"],
        follows=settings["follows"],
        beside=settings["beside"],
    )
