"""Search batch sizes or token budgets on the tuning split: `snakemake tune`.

In: corpus/tuning.parquet and the model; never the evaluation corpus. Out: tune/<offer>/trials.csv,
tune/<offer>/variants.tsv (rows to copy into the variants table), and the trials' own journal.
"""

if CAMPAIGN.tune:

    rule tune_option:
        input:
            **backend_files(CAMPAIGN.tune.variant),
            tuning=f"{RESULTS}/corpus/tuning.parquet",
            tokenizer=f"{RESULTS}/model/tokenizer.json",
            tokenizer_settings=f"{RESULTS}/model/tokenizer_settings.json",
            fingerprint=f"{RESULTS}/model/fingerprint.json",
            labels=f"{RESULTS}/model/labels.json",
            environment=f"{RESULTS}/offers/{{offer}}/environment.json",
        output:
            trials=f"{RESULTS}/tune/{{offer}}/trials.csv",
            proposal=f"{RESULTS}/tune/{{offer}}/variants.tsv",
        log:
            f"{RESULTS}/logs/tune_option/{{offer}}.log",
        wildcard_constraints:
            offer=one_of(HERE),
        threads: workflow.cores
        resources:
            gpu=1,
        params:
            settings=lambda w: pass_settings(
                "tune_option",
                w.offer,
                CAMPAIGN.tune.variant,
                tune=CAMPAIGN.tune.model_dump(mode="json"),
            ),
        message:
            "Tune {CAMPAIGN.tune.option} of {CAMPAIGN.tune.variant} on {wildcards.offer}"
        script:
            "../scripts/tune_option.py"

    rule tune:
        input:
            expand(f"{RESULTS}/tune/{{offer}}/variants.tsv", offer=HERE),
