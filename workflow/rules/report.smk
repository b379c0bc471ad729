"""The report page, its charts, and the evidence bag.

In: decision, balance, ledger, calendar, attempts, summary, separation, quality and checks of each
option, environments, seal, fingerprints. Out: report.html, charts/*.svg, evidence.zip.
"""

from atpar.canonical import file_digest

REPORT_FILES = ("page.html.j2", "page.css")


def report_digests():
    """Return the digests of the page's template and style: a changed look renders it anew."""
    folder = Path(workflow.basedir) / "workflow" / "atpar" / "report"
    return [file_digest(folder / name) for name in REPORT_FILES]


def report_files(folder):
    """Return `folder`'s file of each option that is measured here or was carried in."""
    return [f"{RESULTS}/{folder}/{offer}/{variant}.json" for offer, variant in measured_options()]


def environment_files():
    """Return the environment of each offer that has an option."""
    return sorted({f"{RESULTS}/offers/{offer}/environment.json" for offer, _ in measured_options()})


rule render_report:
    input:
        decision=f"{RESULTS}/decision.json",
        note=f"{RESULTS}/decision.md",
        balance=f"{RESULTS}/balance.csv",
        ledger=f"{RESULTS}/ledger.csv",
        calendar=f"{RESULTS}/calendar.csv",
        attempts=f"{RESULTS}/attempts.csv",
        summary=f"{RESULTS}/summary.csv",
        separation=f"{RESULTS}/separation.csv",
        findings=f"{RESULTS}/separation.json",
        deliverables=f"{RESULTS}/deliverables.csv",
        packages=f"{RESULTS}/packages.csv",
        windows=f"{RESULTS}/window.csv",
        quality=report_files("quality"),
        checks=report_files("checks"),
        environments=environment_files(),
        seal=f"{RESULTS}/protocol/seal.json",
        corpus=f"{RESULTS}/corpus/fingerprint.json",
        model=f"{RESULTS}/model/fingerprint.json",
    output:
        page=report(
            f"{RESULTS}/report.html",
            caption="../report/page.rst",
            category="Decision",
            labels={"file": "report page"},
        ),
        durations=report(
            f"{RESULTS}/charts/durations.svg",
            caption="../report/durations.rst",
            category="Measurements",
            labels={"file": "durations by option"},
        ),
        order=report(
            f"{RESULTS}/charts/order.svg",
            caption="../report/order.rst",
            category="Measurements",
            labels={"file": "durations in measured order"},
        ),
        calendar=report(
            f"{RESULTS}/charts/calendar.svg",
            caption="../report/calendar.rst",
            category="Money and time",
            labels={"file": "calendar"},
        ),
    log:
        f"{RESULTS}/logs/render_report.log",
    params:
        settings=settings(
            "render_report",
            packages=("altair", "jinja2", "markdown-it-py", "vl-convert-python"),
            style=CAMPAIGN.report,
            look=report_digests(),
        ),
    message:
        "Render the report"
    script:
        "../scripts/render_report.py"
