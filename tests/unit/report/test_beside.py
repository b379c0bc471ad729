"""Old and new side by side on the page, when a campaign asks an earlier one's question again."""

import json
import re
import shutil

import pytest

from atpar.decision.follows import compare_campaigns
from atpar.report.material import read_material
from atpar.report.page import render_page


@pytest.fixture
def earlier(campaign):
    """The campaign measured before: on an older torch, slower, dearer, without one option."""
    folder = campaign.parent / "first-try"
    shutil.copytree(campaign, folder)
    for path in folder.glob("offers/*/environment.json"):
        path.write_text(path.read_text().replace("2.13.0", "2.9.1"))
    balance = folder / "balance.csv"
    balance.write_text(balance.read_text().replace("220.00", "275.00"))
    summary = folder / "summary.csv"
    header, *rows = summary.read_text().splitlines()
    where = header.split(",").index("median_s")
    cells = [row.split(",") for row in rows if not row.startswith("two-threads,batch-8")]
    for row in cells:
        row[where] = str(2 * float(row[where])) if row[where] else ""
    summary.write_text("\n".join([header, *map(",".join, cells)]) + "\n")
    return folder


def rows_of(page, name):
    """Return a table's rows as lists of the texts between its tags."""
    part = page.partition(f'<table id="{name}-table"')[2].partition("</table>")[0]
    rows = part.split("<tr>")[1:]
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.findall(r"<t[hd][^>]*>.*?</t[hd]>", row, flags=re.DOTALL)
        ]
        for row in rows
    ]


def test_old_and_new_side_by_side(campaign, earlier):
    compare_campaigns(earlier, campaign, campaign / "follows.csv")
    page = render_page(read_material(campaign, "first-try", beside=True))
    assert '<a href="#beside">Beside first-try</a>' in page

    header, *stack = rows_of(page, "beside-stack")
    assert header == ["Offer", "What", "first-try", "demo", "Changed"]
    assert ["one-thread", "software.torch", "2.9.1", "2.13.0", "◐ changed"] in stack
    [corpus] = [row for row in rows_of(page, "beside-question") if row[0] == "corpus"]
    assert corpus == ["corpus", "0101010101010101…", "0101010101010101…", "same"]
    header, *durations = rows_of(page, "beside-duration")
    assert header[-3:] == ["demo", "demo / first-try", "Changed"]
    one = ["two-threads", "batch-1", "median, s", "24.40", "12.20", "0.5000", "◐ changed"]
    assert one in durations
    [gone] = [row for row in durations if row[1:3] == ["batch-8", "median, s"] and "two" in row[0]]
    assert gone[3].startswith("–") and gone[4] == "17.40" and gone[5] == ""
    assert "the earlier campaign doesn" in page
    costs = rows_of(page, "beside-cost")
    assert "275.00" in costs[1][3] and "220.00" in costs[1][4] and costs[1][5] == "0.8000"
    changed = json.loads((campaign / "decision.json").read_text()) != json.loads(
        (earlier / "decision.json").read_text()
    )
    assert f"decision {int(changed)} of 2" in page


def test_without_the_earlier_results_the_page_says_so(campaign):
    (campaign / "follows.csv").write_text("a table of before\n")
    page = render_page(read_material(campaign, "first-try"))
    assert "bring results/first-try there" in page and "a table of before" not in page


def test_a_first_campaign_has_no_such_section(campaign):
    assert 'id="beside"' not in render_page(read_material(campaign))
