"""The report and the evidence bag of a campaign that was really measured."""

import subprocess
import sys
import zipfile


def test_page_needs_nothing_else_and_shows_every_attempt(finished):
    page = (finished.results / "report.html").read_text(encoding="utf-8")
    attempts = (finished.results / "attempts.csv").read_text(encoding="utf-8").splitlines()[1:]

    assert attempts
    assert "Not everything is there yet" not in page
    assert all(f">{row.split(',')[0]}<" in page for row in attempts)
    assert "<script" not in page and "<link" not in page
    assert "the table has no column" not in page


def test_snakemake_report_holds_page_and_charts(measured):
    measured.snakemake("--report", "answer.zip")
    with zipfile.ZipFile(measured.folder / "answer.zip") as packed:
        names = {name.rpartition("/")[2] for name in packed.namelist()}
    assert {"report.html", "durations.svg", "order.svg", "calendar.svg"} <= names


def test_evidence_holds_on_another_machine_until_a_figure_is_changed(measured, tmp_path):
    measured.snakemake("evidence")
    bag = tmp_path / "evidence.zip"
    bag.write_bytes((measured.results / "evidence.zip").read_bytes())

    def verify():
        command = [sys.executable, "-m", "atpar.cli", "verify", str(bag)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=measured.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    done = verify()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal:   decision.json" in done.stdout

    with zipfile.ZipFile(bag) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    (name,) = [one for one in members if one.endswith("data/balance.csv")]
    members[name] = members[name].replace(b"1,1,", b"1,2,", 1)
    with zipfile.ZipFile(bag, "w") as packed:
        for one, content in members.items():
            packed.writestr(one, content)
    done = verify()
    assert done.returncode == 1
    assert "data/balance.csv" in done.stdout


def test_changed_look_of_the_page_renders_it_anew_and_nothing_else(measured):
    measured.edit("workflow/atpar/report/page.css", "--accent: #0f5f9c", "--accent: #0f5f9d")
    assert measured.to_run() == {"render_report": 1}


def test_short_report_renders_anew_and_nothing_else(measured):
    measured.configure(report="short")
    assert measured.to_run() == {"render_report": 1}
