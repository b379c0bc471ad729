"""Attempts of several nodes: each start is shown by its node's own clock and offset."""

from dataclasses import replace

from atpar.report.material import read_material
from atpar.report.sections.tried import attempts_section


def test_starts_are_shown_with_the_nodes_offset(campaign):
    material = read_material(campaign)
    rows = material.rows("attempts")[:3]
    start = "2026-11-30T23:30:00.250+00:00"
    for row, zone in zip(rows, ("+05:30", "-08:00", ""), strict=True):
        row |= {"started_utc": start, "zone": zone}
    shown = attempts_section(replace(material, tables={"attempts": rows}), "full").blocks[0]
    where = [column.title for column in shown.columns].index("Started, node's time")
    assert [row[where][0].text for row in shown.rows] == [
        "2026-12-01 05:00:00 +05:30",
        "2026-11-30 15:30:00 -08:00",
        "2026-11-30 23:30:00 UTC",
    ]
