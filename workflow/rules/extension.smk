"""Extension `automatic`: one more round for all variants while the leading options are tied.

In: decision.json, summary.csv, separation.json, protocol/seal.json, once a run has decided. Out:
protocol/extensions.jsonl, append-only and read at each parse (PLAN.repetitions), so that no stage
depends on it as a file and no earlier pass is measured again.
"""

import atexit

from atpar.decision.extension import grant, is_command, repeatable, start_over


def extend_series():
    """Grant a round that the decision asks for, and let Snakemake start over to measure it."""
    if CAMPAIGN.protocol.extension.mode != "automatic" or not workflow.is_main_process:
        return
    try:
        check_cap(PLAN.with_granted(PLAN.repetitions_added + 1))
    except AtparError as error:
        logger.warning(f"the series isn't extended: {error}")
        return
    granted = grant(Path(RESULTS), HERE, PLAN.repetitions)
    if granted:
        logger.info(granted)
        if not repeatable(workflow.dag_settings):
            logger.info(
                "what this command forces to run would be measured again, so it isn't repeated: run "
                "snakemake again, without --force, --forceall or --forcerun, to measure that round"
            )
        elif is_command():
            # At exit, when the working directory isn't locked any more.
            atexit.register(start_over)


onsuccess:
    extend_series()
