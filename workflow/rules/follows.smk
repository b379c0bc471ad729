"""Ask the same question again: this campaign beside the one that it follows.

In: summary.csv, balance.csv, decision.json of both, with their seals, fingerprints and
environments. Out: follows.csv, which is a section of the report. Where the earlier campaign's
results aren't on this machine, the report says so; only the target `follows` insists.
"""

from atpar.decision.followed import FOLLOWED_FILES, lacking

BESIDE = []

if CAMPAIGN.follows:

    FOLLOWED = f"results/{CAMPAIGN.follows}"

    rule compare_campaigns:
        input:
            # The earlier campaign's files are finished: sources, read where they are.
            before=[path for name in FOLLOWED_FILES if Path(path := f"{FOLLOWED}/{name}").exists()],
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

    if absent := lacking(Path(FOLLOWED)):
        logger.warning(
            f"follows {CAMPAIGN.follows}: {FOLLOWED}/{absent[0]} isn't here, so the report sets "
            "nothing side by side; bring that campaign's results to this machine"
        )
    else:
        BESIDE = [rules.compare_campaigns.output.table]
