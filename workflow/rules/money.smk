"""Money and time: the rental calendar, the ledger and the balance.

In: the tables of calendar, offers, expenses and tariffs; attempts.csv, summary.csv and
deliverables.csv. Out: calendar.csv and window.csv, then ledger.csv, balance.csv, packages.csv and
focus.csv.
"""


def money_offers():
    """Return the offers as plain values: what is rented, without how it is computed on."""
    return [offer.model_dump(mode="json", exclude={"device", "threads"}) for offer in PLAN.offers]


def calendar_passes():
    """Return every planned pass of every offer, in the rotated order."""
    offers = [offer.offer for offer in PLAN.offers]
    return [
        [place.offer, place.variant, place.repetition]
        for place in schedule(offers, VARIANTS, PLAN.repetitions)
    ]


rule plan_calendar:
    input:
        tasks=CAMPAIGN.tables.calendar,
        attempts=f"{RESULTS}/attempts.csv",
    output:
        calendar=f"{RESULTS}/calendar.csv",
        windows=f"{RESULTS}/window.csv",
    log:
        f"{RESULTS}/logs/plan_calendar.log",
    params:
        settings=settings(
            "plan_calendar",
            packages=("pandas", "pandera", "tzdata"),
            offers=[offer.offer for offer in PLAN.offers],
            passes=calendar_passes(),
            zone=CAMPAIGN.protocol.zone,
            deadline=CAMPAIGN.protocol.deadline,
        ),
    message:
        "Place the passes in the calendar"
    script:
        "../scripts/plan_calendar.py"


rule draw_calendar:
    input:
        tasks=CAMPAIGN.tables.calendar,
        # The journals as they stand: the plan is drawn before the first pass too.
        journals=sorted(map(str, Path(RESULTS, "journal").glob("*.jsonl"))),
    output:
        calendar=f"{RESULTS}/plan/calendar.csv",
        ics=f"{RESULTS}/plan/calendar.ics",
        svg=f"{RESULTS}/plan/timeline.svg",
        png=f"{RESULTS}/plan/timeline.png",
    log:
        f"{RESULTS}/logs/draw_calendar.log",
    params:
        settings=settings(
            "draw_calendar",
            packages=("altair", "vl-convert-python", "icalendar", "pandas", "tzdata"),
            campaign=CAMPAIGN.campaign,
            offers=[offer.offer for offer in PLAN.offers],
            passes=calendar_passes(),
            zone=CAMPAIGN.protocol.zone,
            deadline=CAMPAIGN.protocol.deadline,
        ),
    message:
        "Draw the rental calendar"
    script:
        "../scripts/draw_calendar.py"


rule calendar:
    input:
        rules.draw_calendar.output,


rule keep_ledger:
    input:
        summary=f"{RESULTS}/summary.csv",
        deliverables=f"{RESULTS}/deliverables.csv",
        attempts=f"{RESULTS}/attempts.csv",
        windows=f"{RESULTS}/window.csv",
        tariffs=CAMPAIGN.tables.tariffs,
        expenses=CAMPAIGN.tables.expenses,
    output:
        ledger=f"{RESULTS}/ledger.csv",
        balance=f"{RESULTS}/balance.csv",
        packages=f"{RESULTS}/packages.csv",
        focus=f"{RESULTS}/focus.csv",
    log:
        f"{RESULTS}/logs/keep_ledger.log",
    params:
        settings=settings(
            "keep_ledger",
            packages=("pandas", "pandera"),
            campaign=CAMPAIGN.campaign,
            offers=money_offers(),
            expected=len(CAMPAIGN.protocol.deliverables),
            currency=CAMPAIGN.money.currency,
            rates=CAMPAIGN.money.rates,
            price_age_days=CAMPAIGN.money.price_age_days,
        ),
    message:
        "Keep the ledger"
    script:
        "../scripts/keep_ledger.py"
