"""From attempts to the decision.

In: journal/*.jsonl, passes/, checks/, quality/, the exclusions table, window.csv and balance.csv of
the money room, offers/<offer>/environment.json, protocol/seal.json. Out: attempts.csv,
summary.csv, deliverables.csv, separation.csv, separation.json, decision.json, decision.md.
"""


def files_of_options(folder):
    """Return `folder`'s file of each option that is measured here or was carried in."""
    return [f"{RESULTS}/{folder}/{offer}/{variant}.json" for offer, variant in measured_options()]


def summarised_options():
    """Return each measured option with what the summary says of it besides its attempts."""
    return [
        {
            "offer": offer,
            "variant": variant,
            "series": PLAN.variant(variant).series,
            "recovers": PLAN.variant(variant).recovers,
            "planned_passes": PLAN.repetitions,
        }
        for offer, variant in measured_options()
    ]


rule tabulate_attempts:
    input:
        records=pass_records(),
        receipts=CARRIED.receipts(),
        checks=files_of_options("checks"),
        qualities=files_of_options("quality"),
        exclusions=CAMPAIGN.tables.exclusions,
    output:
        attempts=f"{RESULTS}/attempts.csv",
    log:
        f"{RESULTS}/logs/tabulate_attempts.log",
    params:
        settings=settings(
            "tabulate_attempts",
            ("pandas", "pandera"),
            journals=f"{RESULTS}/journal",
            series={variant.variant: variant.series for variant in PLAN.variants},
            metric=CAMPAIGN.protocol.metric,
        ),
    message:
        "Tabulate the attempts"
    script:
        "../scripts/tabulate_attempts.py"


rule summarise_passes:
    input:
        attempts=f"{RESULTS}/attempts.csv",
        qualities=files_of_options("quality"),
    output:
        summary=f"{RESULTS}/summary.csv",
        deliverables=f"{RESULTS}/deliverables.csv",
    log:
        f"{RESULTS}/logs/summarise_passes.log",
    params:
        settings=settings(
            "summarise_passes",
            ("pandas", "pandera"),
            options=summarised_options(),
            expected=CAMPAIGN.protocol.deliverables,
            metric=CAMPAIGN.protocol.metric,
        ),
    message:
        "Summarise the passes"
    script:
        "../scripts/summarise_passes.py"


rule separate_options:
    input:
        attempts=f"{RESULTS}/attempts.csv",
    output:
        table=f"{RESULTS}/separation.csv",
        findings=f"{RESULTS}/separation.json",
    log:
        f"{RESULTS}/logs/separate_options.log",
    params:
        settings=settings(
            "separate_options",
            ("numpy", "pandas", "pandera", "scipy"),
            options=measured_options(),
            series=[
                {"name": series.name, "problem": series.problem}
                for series in SERIES
                if series.problem
            ],
            protocol=CAMPAIGN.protocol.model_dump(mode="json", include={"control", "separation"}),
        ),
    message:
        "Find out which options the series tells apart"
    script:
        "../scripts/separate_options.py"


rule decide:
    input:
        seal=f"{RESULTS}/protocol/seal.json",
        attempts=f"{RESULTS}/attempts.csv",
        summary=f"{RESULTS}/summary.csv",
        separation=f"{RESULTS}/separation.csv",
        findings=f"{RESULTS}/separation.json",
        deliverables=f"{RESULTS}/deliverables.csv",
        balance=f"{RESULTS}/balance.csv",
        windows=f"{RESULTS}/window.csv",
        ledger=f"{RESULTS}/ledger.csv",
        tariffs=CAMPAIGN.tables.tariffs,
        environments=measured_environments(),
    output:
        decision=f"{RESULTS}/decision.json",
        text=f"{RESULTS}/decision.md",
    log:
        f"{RESULTS}/logs/decide.log",
    params:
        settings=settings(
            "decide",
            ("pandas", "pydantic"),
            campaign=CAMPAIGN.campaign,
            planned=[[offer.offer, variant] for offer in PLAN.offers for variant in VARIANTS],
            repetitions_added=PLAN.repetitions_added,
            money={
                "offers": money_offers(),
                "currency": CAMPAIGN.money.currency,
                "rates": CAMPAIGN.money.rates,
            },
        ),
    message:
        "Decide"
    script:
        "../scripts/decide.py"
