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
        for place in schedule(offers, VARIANTS, PLAN.repetitions, PLAN.resumed)
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


def production_tokens():
    """Return the token counts of the real load, as an input, where its files are stated."""
    stated = CAMPAIGN.production is not None and CAMPAIGN.production.files
    if stated and CARRIED.evaluates_only:
        logger.warning(
            "production.files are counted with the tokenizer, which isn't on a machine that only "
            "evaluates: nothing is forecast here; state production.entries instead"
        )
        return {}
    return {"production": f"{RESULTS}/corpus/production.parquet"} if stated else {}


def corpus_lengths():
    """Return the evaluation corpus' token counts, as an input; a share may come without them."""
    path = f"{RESULTS}/corpus/reference.parquet"
    return {} if CARRIED.evaluates_only and not CARRIED.has(path) else {"reference": path}


def real_load():
    """Return what is said of the real load; None where it can't be counted here."""
    production = CAMPAIGN.production
    if production is None or (production.files and CARRIED.evaluates_only):
        return None
    return production.model_dump(mode="json")


rule measure_production:
    input:
        files=lambda w: PRODUCTION_FILES,
        tokenizer=f"{RESULTS}/model/tokenizer.json",
    output:
        tokens=f"{RESULTS}/corpus/production.parquet",
    log:
        f"{RESULTS}/logs/measure_production.log",
    params:
        settings=lambda w: settings(
            "measure_production",
            packages=("numpy", "pyarrow", "tokenizers"),
            files=CAMPAIGN.production.files,
            columns=CAMPAIGN.corpus.columns.model_dump(include={"id", "text"}),
            dialect=CAMPAIGN.corpus.dialect.model_dump(mode="json"),
            policy=CAMPAIGN.corpus.policy.model_dump(mode="json"),
        ),
    message:
        "Count the tokens of the real load"
    script:
        "../scripts/measure_production.py"


rule look_ahead:
    input:
        **production_tokens(),
        **corpus_lengths(),
        attempts=f"{RESULTS}/attempts.csv",
        records=pass_records(),
        summary=f"{RESULTS}/summary.csv",
        decision=f"{RESULTS}/decision.json",
        ledger=f"{RESULTS}/ledger.csv",
        windows=f"{RESULTS}/window.csv",
        model=f"{RESULTS}/model/fingerprint.json",
        tariffs=CAMPAIGN.tables.tariffs,
    output:
        forecast=f"{RESULTS}/forecast.csv",
        curves=f"{RESULTS}/breakeven.csv",
        outlook=f"{RESULTS}/outlook.json",
    log:
        f"{RESULTS}/logs/look_ahead.log",
    params:
        settings=settings(
            "look_ahead",
            packages=("numpy", "pandas", "pandera", "pyarrow", "scipy"),
            offers=money_offers(),
            variants=[
                variant.model_dump(
                    mode="json",
                    include={
                        "variant",
                        "batch_size",
                        "token_budget",
                        "order",
                        "window",
                        "padding",
                        "pad_multiple",
                        "max_length",
                    },
                )
                for variant in PLAN.variants
            ],
            production=real_load(),
            usual=CAMPAIGN.protocol.tolerance.reference,
            currency=CAMPAIGN.money.currency,
            rates=CAMPAIGN.money.rates,
        ),
    message:
        "Look ahead: forecast, break-even, what deciding costs"
    script:
        "../scripts/look_ahead.py"


rule forecast:
    input:
        rules.look_ahead.output,
