"""Entry of the workflow: which GPU configuration costs least for the same accepted result?"""

from snakemake.utils import min_version

min_version("9.17")  # `priority` as a function of the wildcards


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/carry.smk"


# A machine that only evaluates takes corpus, model and seal as they were carried in.
if not CARRIED.evaluates_only:

    include: "workflow/rules/example.smk"
    include: "workflow/rules/corpus.smk"
    include: "workflow/rules/model.smk"
    include: "workflow/rules/protocol.smk"


include: "workflow/rules/slurm.smk"
include: "workflow/rules/passes.smk"
include: "workflow/rules/tune.smk"
include: "workflow/rules/quality.smk"
include: "workflow/rules/money.smk"
include: "workflow/rules/balance.smk"
include: "workflow/rules/extension.smk"
include: "workflow/rules/follows.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        f"{RESULTS}/decision.json",
        f"{RESULTS}/report.html",
    resources:
        plan=plan_text,
    message:
        "{resources.plan}"


rule passes:
    input:
        pass_records(HERE),


rule seal:
    input:
        f"{RESULTS}/protocol/seal.json",


# A cluster executor sends away only what must run on the offer's own machine.
workflow.localrules(*({rule.name for rule in workflow.rules} - {"inspect_offer", "measure_pass"}))
