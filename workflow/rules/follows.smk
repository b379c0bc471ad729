"""Ask the same question again: this campaign beside the one that it follows.

In: summary.csv, balance.csv, decision.json of both, with their seals, fingerprints and
environments. Out: follows.csv.
"""

if CAMPAIGN.follows:

    FOLLOWED = f"results/{CAMPAIGN.follows}"

    rule compare_campaigns:
        input:
            # The earlier campaign's files are finished: sources, read where they are.
            before=[
                path
                for name in ("summary.csv", "balance.csv", "decision.json")
                if Path(path := f"{FOLLOWED}/{name}").exists()
            ],
            summary=f"{RESULTS}/summary.csv",
            balance=f"{RESULTS}/balance.csv",
            decision=f"{RESULTS}/decision.json",
        output:
            table=f"{RESULTS}/follows.csv",
        log:
            f"{RESULTS}/logs/compare_campaigns.log",
        params:
            settings=settings("compare_campaigns", ("pandas", "pandera"), before=FOLLOWED),
        message:
            "Set {CAMPAIGN.campaign} beside {CAMPAIGN.follows}"
        script:
            "../scripts/compare_campaigns.py"

    rule follows:
        input:
            rules.compare_campaigns.output,
