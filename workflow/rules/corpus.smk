"""Read and fingerprint the corpus; count tokens, split into buckets, draw the evaluation sample.

In: the files of `corpus.files`; model/tokenizer.json and model/tokenizer_settings.json. Out, under
corpus/: source.parquet, source.json, entries.parquet, evaluation.parquet (what a pass reads),
reference.parquet (what quality reads), tuning.parquet (what tuning reads), fingerprint.json.
"""

from atpar.corpus.sources import corpus_files

try:
    CORPUS_FILES = literal("corpus.files", corpus_files(CAMPAIGN.corpus.files))
    stated = CAMPAIGN.production.files if CAMPAIGN.production else None
    PRODUCTION_FILES = literal("production.files", corpus_files(stated or [], "production.files"))
except AtparError as error:
    raise WorkflowError(str(error)) from None


rule fingerprint_corpus:
    input:
        files=CORPUS_FILES,
    output:
        table=f"{RESULTS}/corpus/source.parquet",
        fingerprint=f"{RESULTS}/corpus/source.json",
    log:
        f"{RESULTS}/logs/fingerprint_corpus.log",
    params:
        settings=settings(
            "fingerprint_corpus",
            ("numpy", "pandas", "pyarrow"),
            **CAMPAIGN.corpus.model_dump(
                mode="json", include={"files", "columns", "dialect", "policy"}
            ),
        ),
    message:
        "Read and fingerprint the corpus"
    script:
        "../scripts/fingerprint_corpus.py"


rule split_buckets:
    input:
        table=f"{RESULTS}/corpus/source.parquet",
        fingerprint=f"{RESULTS}/corpus/source.json",
        tokenizer=f"{RESULTS}/model/tokenizer.json",
        tokenizer_settings=f"{RESULTS}/model/tokenizer_settings.json",
    output:
        entries=f"{RESULTS}/corpus/entries.parquet",
        evaluation=f"{RESULTS}/corpus/evaluation.parquet",
        reference=f"{RESULTS}/corpus/reference.parquet",
        tuning=f"{RESULTS}/corpus/tuning.parquet",
        fingerprint=f"{RESULTS}/corpus/fingerprint.json",
    log:
        f"{RESULTS}/logs/split_buckets.log",
    threads: workflow.cores
    params:
        settings=settings(
            "split_buckets",
            ("numpy", "pyarrow", "tokenizers"),
            empty_text=CAMPAIGN.corpus.policy.empty_text,
            **CAMPAIGN.corpus.model_dump(mode="json", include={"sample", "label_map"}),
        ),
    message:
        "Count tokens, split into buckets, draw the evaluation corpus"
    script:
        "../scripts/split_buckets.py"
