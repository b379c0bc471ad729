"""The report page, its charts, and the evidence bag.

In: decision, balance, ledger, calendar, outlook, attempts, summary, separation, quality and checks
of each option, environments, seal, fingerprints. Out: report.html, charts/*.svg, evidence.zip.
"""

import json

from atpar.canonical import file_digest
from atpar.protocol.software import versions

REPORT_FILES = ("page.html.j2", "page.css")


def report_digests():
    """Return the digests of the page's template and style: a changed look renders it anew."""
    folder = Path(workflow.basedir) / "workflow" / "atpar" / "report"
    return [file_digest(folder / name) for name in REPORT_FILES]


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
        forecast=f"{RESULTS}/forecast.csv",
        curves=f"{RESULTS}/breakeven.csv",
        outlook=f"{RESULTS}/outlook.json",
        quality=files_of_options("quality"),
        checks=files_of_options("checks"),
        environments=measured_environments(),
        seal=f"{RESULTS}/protocol/seal.json",
        corpus=f"{RESULTS}/corpus/fingerprint.json",
        model=f"{RESULTS}/model/fingerprint.json",
        beside=BESIDE,
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
            follows=CAMPAIGN.follows,
            beside=bool(BESIDE),
            look=report_digests(),
        ),
    message:
        "Render the report"
    script:
        "../scripts/render_report.py"


REBUILT = (
    "tabulate_attempts",
    "summarise_passes",
    "separate_options",
    "plan_calendar",
    "keep_ledger",
    "decide",
)
"""Rules whose outputs `atpar verify` computes again from the attempts."""


def step_settings():
    """Return the settings of each rule that is computed again, without its digests."""
    parsed = {name: json.loads(getattr(rules, name).params.settings) for name in REBUILT}
    return {
        name: {key: value for key, value in own.items() if key not in ("code", "software")}
        for name, own in parsed.items()
    }


def predictions_of(record):
    """Return the predictions that belong to a pass's record."""
    name = Path(record).relative_to(f"{RESULTS}/passes").with_suffix(".parquet")
    return str(Path(RESULTS, "predictions", name))


def evidence_files():
    """Return what the decision rests on, all of it below the campaign's folder."""
    records = pass_records()
    return [
        *(file for name in REBUILT for file in getattr(rules, name).output),
        *rules.look_ahead.output,
        rules.render_report.output.page,
        *records,
        *map(predictions_of, records),
        *files_of_options("checks"),
        *files_of_options("quality"),
        *measured_environments(),
        *BESIDE,
        f"{RESULTS}/protocol/seal.json",
        f"{RESULTS}/corpus/fingerprint.json",
        f"{RESULTS}/model/fingerprint.json",
        f"{RESULTS}/model/tokenizer_settings.json",
    ]


def evidence_texts():
    """Return the files with texts and answers; a machine that only evaluates has none."""
    if CARRIED.evaluates_only:
        return []
    return [f"{RESULTS}/corpus/evaluation.parquet", f"{RESULTS}/corpus/reference.parquet"]


rule pack_evidence:
    input:
        kept=evidence_files(),
        texts=evidence_texts(),
        calendar=[CAMPAIGN.tables.calendar],
        exclusions=[CAMPAIGN.tables.exclusions],
        expenses=[CAMPAIGN.tables.expenses],
        tariffs=CAMPAIGN.tables.tariffs,
    output:
        bag=f"{RESULTS}/evidence.zip",
    log:
        f"{RESULTS}/logs/pack_evidence.log",
    params:
        settings=settings(
            "pack_evidence",
            packages=("bagit", "pyarrow"),
            campaign=CAMPAIGN.campaign,
            texts=CAMPAIGN.evidence == "texts",
            steps=step_settings(),
            configuration={
                "campaign": CAMPAIGN.model_dump(mode="json"),
                "variants": [one.model_dump(mode="json") for one in PLAN.variants],
                "offers": [one.model_dump(mode="json") for one in PLAN.offers],
            },
            versions=versions(("numpy", "pandas", "pandera", "pydantic", "scipy", "tzdata")),
        ),
    message:
        "Pack the evidence"
    script:
        "../scripts/pack_evidence.py"


rule evidence:
    input:
        rules.pack_evidence.output.bag,
