"""The page: whole, safe, readable without colour, and honest about what is missing."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from atpar.errors import AtparError
from atpar.report.material import read_material
from atpar.report.page import render_page, render_report

VOID = {"meta", "link", "br", "hr", "img", "input", "path", "line", "rect", "circle"}


class Outline(HTMLParser):
    """The parts of a page that the tests ask about; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._table = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._table = dict(attrs)["id"] or ""
            self.tables[self._table] = []
        elif tag == "tr":
            self.tables[self._table].append([])
        elif tag in ("td", "th"):
            self.tables[self._table][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[self._table][-1][-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.tags if found == tag]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def cell(self, table: str, row: tuple[str, ...], column: str) -> str:
        """Return the text of a cell by its row's leading cells and its column's title."""
        head, *body = self.tables[f"{table}-table"]
        (found,) = [one for one in body if tuple(one[: len(row)]) == row]
        return re.sub(r"\s+", " ", found[head.index(column)]).strip()


def page_of(folder: Path, style: str = "full") -> Outline:
    return Outline(render_page(read_material(folder), style))


@pytest.fixture(scope="module")
def page(untouched: Path) -> Outline:
    """Return the page of the untouched campaign."""
    return page_of(untouched)


def change_csv(path: Path, change) -> None:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def test_page_has_every_part_and_loads_nothing(campaign: Path) -> None:
    text = render_page(read_material(campaign))
    page = Outline(text)

    assert [one["id"] for one in page.named("section")] == [
        "decision", "balance", "durations", "separation", "quality", "memory", "calendar",
        "ledger", "ahead", "attempts", "environment", "protocol", "coverage",
    ]  # fmt: skip
    tags = {tag for tag, _ in page.tags}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "use", "image"})
    assert "url(" not in text and "@import" not in text
    loading = [
        attributes
        for _, attributes in page.tags
        if "src" in attributes or not (attributes.get("href") or "#").startswith("#")
    ]
    assert loading == []


def test_answer_comes_first_with_its_figures(page: Outline) -> None:
    first = page.text.index("Not finished")
    assert first < page.text.index("What separates them") < page.text.index("What was engaged")
    row = ("grouped-8 on two-threads",)
    assert page.cell("leading", row, "Per deliverable") == "220.00 USD"
    assert page.cell("leading", row, "Median, s") == "6.50"
    assert "latency weren't measured" in page.text


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("tied", "Not told apart"),
        ("none", "Nothing admissible"),
        ("screening", "Screening"),
        ("chosen", "Decided"),
    ],
)
@pytest.mark.usefixtures("quick_charts")
def test_outcome_is_said_in_words(campaign: Path, outcome: str, word: str) -> None:
    path = campaign / "decision.json"
    decision = json.loads(path.read_text(encoding="utf-8"))
    decision.update(outcome=outcome, choice=None)
    path.write_text(json.dumps(decision), encoding="utf-8")
    assert f"{word} " in page_of(campaign).text


@pytest.mark.parametrize("screening", [True, False])
@pytest.mark.usefixtures("quick_charts")
def test_spans_are_called_short_as_the_decision_calls_them(campaign: Path, screening: bool) -> None:
    path = campaign / "decision.json"
    decision = json.loads(path.read_text(encoding="utf-8"))
    assert decision["shortest_span"]["screening"] is False
    decision["shortest_span"]["screening"] = screening
    path.write_text(json.dumps(decision), encoding="utf-8")
    page = page_of(campaign)
    said = "Screening only: the shortest median of an admissible option, 6.5 s"
    assert (said in page.text) is screening


@pytest.mark.usefixtures("quick_charts")
def test_an_amount_that_lacks_something_is_marked_in_its_cell(campaign: Path) -> None:
    path = campaign / "decision.json"
    decision = json.loads(path.read_text(encoding="utf-8"))
    for option in decision["options"]:
        option["unknown_items"] = ["storage"]
    path.write_text(json.dumps(decision), encoding="utf-8")
    page = page_of(campaign)
    cell = page.cell("leading", ("grouped-8 on two-threads",), "Engaged")
    assert cell == "220.00 USD and what isn't known"
    assert "220.00 USD and what isn't known (storage)" in page.text


def test_links_and_labels_point_at_something(page: Outline) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]

    assert len(ids) == len(set(ids))
    targets = {one["href"][1:] for one in page.named("a")}
    labels = {
        attributes["aria-labelledby"]
        for _, attributes in page.tags
        if "aria-labelledby" in attributes
    }
    assert targets | labels <= set(ids)


@pytest.mark.parametrize("place", ["attempts.csv", "decision.md", "environment", "protocol"])
def test_hostile_text_stays_text(campaign: Path, place: str) -> None:
    hostile = '<img src=x onerror="alert(1)"></script><b>&amp;'
    if place == "attempts.csv":
        change_csv(
            campaign / place,
            lambda rows: [row.update(offer=hostile, notes=hostile) for row in rows],
        )
    elif place == "decision.md":
        # The note is shown where decision.json isn't of a definition that the page knows.
        (campaign / "decision.json").write_text("{}", encoding="utf-8")
        (campaign / place).write_text(
            f"{hostile}\n\n[go](javascript:alert(1))\n\n![see](https://example.org/a.png)\n",
            encoding="utf-8",
        )
    elif place == "environment":
        path = campaign / "offers/one-thread/environment.json"
        path.write_text(json.dumps({"device": {"name": hostile}, "driver": hostile}))
    else:
        path = campaign / "protocol/seal.json"
        path.write_text(json.dumps({"digest": "a", "sealed": {"protocol": {"question": hostile}}}))
    page = page_of(campaign)

    tags = {tag for tag, _ in page.tags}
    assert tags.isdisjoint({"img", "script", "b"})
    assert all(not key.startswith("on") for _, attributes in page.tags for key in attributes)
    assert all((one.get("href") or "").startswith("#") for one in page.named("a"))
    assert "<img src=x" in page.text


def test_missing_value_is_a_dash_with_its_reason_never_zero(page: Outline) -> None:
    cell = page.cell("balance", ("one-thread", "batch-8"), "Per deliverable")
    assert re.fullmatch(r"–\s*[a-z]", cell)
    assert "no deliverable was accepted" in page.text
    cell = page.cell("attempts", ("one-thread/batch-8/5/1",), "Main time, s")
    assert cell.startswith("–")
    assert "it ended before the corpus was done" in page.text
    assert page.cell("environment", ("driver",), "one-thread").startswith("–")
    assert "no GPU was found" in page.text
    assert "a CPU has none" in page.text


def test_note_of_a_missing_value_is_reached_from_its_cell(page: Outline) -> None:
    (note,) = [one for one in page.named("li") if one.get("id") == "ledger-note-a"]
    assert any(one["href"] == "#ledger-note-a" for one in page.named("a"))
    assert note


@pytest.mark.usefixtures("quick_charts")
def test_environments_stand_side_by_side(campaign: Path) -> None:
    path = campaign / "offers/two-threads/environment.json"
    environment = json.loads(path.read_text())
    environment["software"] = {"torch": "2.12.0", "accelerate": None}
    path.write_text(json.dumps(environment))
    page = page_of(campaign)
    assert page.cell("environment", ("software.torch",), "one-thread") == "2.13.0"
    assert page.cell("environment", ("software.torch",), "two-threads") == "2.12.0"
    assert page.cell("environment", ("software.torch",), "Same") == "◐ no"
    assert page.cell("environment", ("device.name",), "Same") == "yes"
    assert page.cell("environment", ("memory_bytes",), "one-thread") == "15.70 GiB"
    assert "it isn't installed" in page.text and "this machine has no such field" in page.text


@pytest.mark.usefixtures("quick_charts")
def test_doubt_about_an_amount_is_a_note_on_it(campaign: Path) -> None:
    change_csv(
        campaign / "balance.csv",
        lambda rows: rows[1].update(engaged_reason="its storage isn't stated"),
    )
    page = page_of(campaign)
    cell = page.cell("balance", ("one-thread", "batch-8"), "Engaged")
    assert re.fullmatch(r"220\.00 USD ?[a-z]", cell)
    assert "its storage isn't stated" in page.text


def test_money_keeps_its_digits_and_currency(campaign: Path) -> None:
    def dearer(rows):
        rows[0]["engaged_amount"] = "12345.675"
        rows[0]["currency"] = "EUR"

    change_csv(campaign / "balance.csv", dearer)
    page = page_of(campaign)
    assert page.cell("balance", ("one-thread", "batch-1"), "Engaged") == "12,345.675 EUR"
    assert page.cell("balance", ("two-threads", "batch-1"), "Engaged") == "220.00 USD"


def test_balance_shows_verdict_and_raw_durations(page: Outline) -> None:
    row = ("one-thread", "batch-8")
    assert page.cell("balance", row, "Accepted") == "0 of 1"
    assert page.cell("balance", row, "Durations, s") == "27.00; 27.40; 27.10"
    assert page.cell("balance", row, "Admissible") == "✕ no"
    assert page.cell("balance", row, "Quality") == "✓ accepted"


def test_tables_have_scoped_headers_and_marks_have_signs(page: Outline) -> None:
    assert page.named("th")
    assert all(one.get("scope") in ("row", "col") for one in page.named("th"))
    marks = [one for one in page.named("span") if (one.get("class") or "").startswith("mark ")]
    answers = [one for one in page.named("div") if (one.get("class") or "").startswith("answer ")]
    signs = [one for one in page.named("span") if one.get("aria-hidden") == "true"]
    assert marks and answers
    assert len(signs) == len(marks) + len(answers)


def test_charts_are_described_in_words(page: Outline) -> None:
    drawings = [one for one in page.named("div") if "drawing" in (one.get("class") or "")]
    assert len(drawings) == 8
    assert all(one["role"] == "img" and one["aria-label"] for one in drawings)
    assert len(page.named("title")) == 1 + len(drawings)
    (durations,) = {one["aria-label"] for one in drawings[:2]}
    assert "one-thread · batch-8: 27.00, 26.80 (excluded), 27.40, 27.10, no duration" in durations


@pytest.mark.parametrize(
    "name", ["attempts", "summary", "separation", "balance", "ledger", "calendar"]
)
@pytest.mark.parametrize("how", ["absent", "no rows"])
@pytest.mark.usefixtures("quick_charts")
def test_table_that_is_absent_or_empty_is_said_so(campaign: Path, name: str, how: str) -> None:
    path = campaign / f"{name}.csv"
    if how == "absent":
        path.unlink()
    else:
        path.write_text(path.read_text().splitlines()[0] + "\n")
    page = page_of(campaign)

    assert len(page.named("section")) == 13
    assert f"{name}-table" not in page.tables
    assert (f"{name}.csv isn't there." in page.text) == (how == "absent")


def test_what_would_change_the_answer_is_drawn_and_told(campaign: Path) -> None:
    path = campaign / "decision.json"
    decision = json.loads(path.read_text(encoding="utf-8"))
    margin = {"what": "price", "offer": "two-threads", "against": "b", "margin": "1", "unit": "%"}
    decision["margins"] = [{**margin, "sentence": "The rental may cost 45 % more."}]
    path.write_text(json.dumps(decision), encoding="utf-8")
    page = page_of(campaign)
    assert "The rental may cost 45 % more." in page.text
    row = ("1,000", "2,345,678")
    assert page.cell("stretches", row, "Billing") == "hourly"
    assert page.cell("stretches", row, "Certain") == "◐ no"
    assert page.cell("forecast", ("two-threads", "grouped-8"), "Work to, h") == "20.50"
    assert page.cell("forecast", ("two-threads", "grouped-8"), "Cost") == "220.00 USD"
    assert "4,000,000 entries repay the campaign (forecast)." in page.text
    figures = [one for one in page.named("div") if "Break-even" in (one.get("aria-label") or "")]
    assert len(figures) == 2
    assert "two-threads · grouped-8 · hourly, two-threads · grouped-8 · package" in (
        figures[0]["aria-label"] or ""
    )


@pytest.mark.parametrize("name", ["forecast.csv", "breakeven.csv", "outlook.json"])
@pytest.mark.usefixtures("quick_charts")
def test_a_campaign_that_did_not_look_ahead_still_has_its_page(campaign: Path, name: str) -> None:
    (campaign / name).unlink()
    page = page_of(campaign)
    assert len(page.named("section")) == 13
    assert f"Missing: {name}." in page.text


def test_complete_campaign_lacks_nothing(page: Outline) -> None:
    assert "Not everything is there yet" not in page.text


def test_empty_folder_still_gives_a_page(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert "There is no decision yet" in page.text
    assert "attempts.csv" in page.text and "decision.md" in page.text


@pytest.mark.usefixtures("quick_charts")
def test_short_report_leaves_out_attempts_that_went_well(campaign: Path) -> None:
    full, short = page_of(campaign), page_of(campaign, "short")
    assert len(full.tables["attempts-table"]) == 1 + 30
    kept = [row[0] for row in short.tables["attempts-table"][1:]]
    assert kept == ["one-thread/batch-8/2/1", "one-thread/batch-8/5/1"]
    assert "excluded: another process was on the device (log of the node)" in short.text


@pytest.mark.usefixtures("quick_charts")
def test_files_of_options_no_longer_asked_about_stay_out(campaign: Path) -> None:
    other = campaign / "quality/one-thread/retired.json"
    other.write_text((campaign / "quality/one-thread/batch-1.json").read_text())
    page = page_of(campaign)
    assert "retired" not in page.text


def test_undefined_metric_says_why(page: Outline) -> None:
    cell = page.cell("metrics", ("one-thread", "batch-1", "macro_f1"), "Lowest")
    assert cell.startswith("–")
    assert "a class is absent" in page.text


def test_subgroup_below_the_sealed_size_is_not_judged(page: Outline) -> None:
    row = ("one-thread", "batch-1", "bucket: long")
    assert page.cell("subgroups", row, "Verdict") == "◐ insufficient"
    assert page.cell("subgroups", row, "Reason") == "10 entries, below the 20 needed"


@pytest.mark.usefixtures("quick_charts")
def test_one_rejected_pass_makes_the_subgroup_rejected(campaign: Path) -> None:
    path = campaign / "quality/one-thread/batch-8.json"
    document = json.loads(path.read_text())
    document["passes"][1]["subgroups"][0].update(verdict="rejected", value_of_metric=0.5)
    path.write_text(json.dumps(document))
    page = page_of(campaign)
    row = ("one-thread", "batch-8", "bucket: short")
    assert page.cell("subgroups", row, "Verdict") == "✕ rejected"
    assert page.cell("subgroups", row, "Lowest") == "0.5000"
    assert page.cell("subgroups", row, "Highest") == "0.9000"


def test_memory_counters_are_named_and_not_mixed(page: Outline) -> None:
    row = ("one-thread", "batch-1")
    assert page.cell("memory", row, "Peak host RSS measured") == "700.0 MiB"
    assert page.cell("memory", row, "Peak device allocated measured").startswith("–")
    assert "no GPU on this machine" in page.text


def test_same_material_gives_the_same_bytes(campaign: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        render_report(
            campaign,
            tmp_path / f"{name}.html",
            {"durations": tmp_path / f"{name}.svg"},
        )
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("decision.json", b"{", "not JSON"),
        ("decision.json", b"[]", "expected a JSON object, found list"),
        ("balance.csv", b"offer,variant\nonly-one\n", "line 2"),
        ("balance.csv", b"offer,variant\na,b,c\n", "line 2"),
        ("summary.csv", b"offer\n\xff\n", "not UTF-8"),
    ],
)
def test_damaged_file_is_named(campaign: Path, name: str, content: bytes, said: str) -> None:
    (campaign / name).write_bytes(content)
    with pytest.raises(AtparError) as caught:
        read_material(campaign)
    assert name in str(caught.value) and said in str(caught.value)


def test_cell_with_line_breaks_of_every_kind_is_one_cell(campaign: Path) -> None:
    notes = "first\r\nsecond\u2028third\x0bfourth"
    change_csv(campaign / "attempts.csv", lambda rows: rows[0].update(notes=notes))
    assert read_material(campaign).rows("attempts")[0]["notes"] == notes
