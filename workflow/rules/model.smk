"""Fetch, check and fingerprint the model; keep its tokenizer apart from its weights.

In: the model folder's files, or a pinned hub revision. Out, under model/: tokenizer.json and
tokenizer_settings.json (from the tokenizer's files alone), fingerprint.json, labels.json.
"""

try:
    TOKENIZER_FILES = literal("model.path", tokenizer_files(CAMPAIGN.model))
    MODEL_FILES = literal("model.path", model_files(CAMPAIGN.model))
except AtparError as error:
    raise WorkflowError(str(error)) from None

MODEL_SOURCE = CAMPAIGN.model.model_dump(mode="json")

if CAMPAIGN.model.hub is not None:

    rule fetch_tokenizer:
        output:
            files=TOKENIZER_FILES,
        log:
            f"{RESULTS}/logs/fetch_tokenizer.log",
        params:
            settings=settings(
                "fetch_tokenizer",
                hub=CAMPAIGN.model.hub,
                revision=CAMPAIGN.model.revision,
            ),
        message:
            "Fetch the tokenizer of {CAMPAIGN.model.hub}"
        script:
            "../scripts/fetch_tokenizer.py"

    rule fetch_model:
        output:
            files=MODEL_FILES,
        log:
            f"{RESULTS}/logs/fetch_model.log",
        params:
            settings=settings("fetch_model", source=MODEL_SOURCE),
        message:
            "Fetch the weights of {CAMPAIGN.model.hub}"
        script:
            "../scripts/fetch_model.py"


rule prepare_tokenizer:
    input:
        files=TOKENIZER_FILES,
    output:
        backend=f"{RESULTS}/model/tokenizer.json",
        settings=f"{RESULTS}/model/tokenizer_settings.json",
    log:
        f"{RESULTS}/logs/prepare_tokenizer.log",
    params:
        settings=settings(
            "prepare_tokenizer",
            ("tokenizers", "transformers"),
            pad_token=CAMPAIGN.model.pad_token,
            trust_remote_code=CAMPAIGN.model.trust_remote_code,
        ),
    message:
        "Prepare the model's tokenizer"
    script:
        "../scripts/prepare_tokenizer.py"


rule fingerprint_model:
    input:
        files=MODEL_FILES,
        tokenizer=f"{RESULTS}/model/tokenizer.json",
        tokenizer_settings=f"{RESULTS}/model/tokenizer_settings.json",
    output:
        fingerprint=f"{RESULTS}/model/fingerprint.json",
    log:
        f"{RESULTS}/logs/fingerprint_model.log",
    params:
        settings=settings(
            "fingerprint_model",
            ("safetensors", "tokenizers", "torch", "transformers"),
            **{key: value for key, value in MODEL_SOURCE.items() if key != "pad_token"},
        ),
    message:
        "Check and fingerprint the model"
    script:
        "../scripts/fingerprint_model.py"


rule check_labels:
    input:
        reference=f"{RESULTS}/corpus/reference.parquet",
        fingerprint=f"{RESULTS}/model/fingerprint.json",
        tokenizer_settings=f"{RESULTS}/model/tokenizer_settings.json",
    output:
        labels=f"{RESULTS}/model/labels.json",
    log:
        f"{RESULTS}/logs/check_labels.log",
    resources:
        # Told, not decided here: another variant repeats no check, and no pass behind it.
        max_lengths=canonical_json({one.variant: one.max_length for one in PLAN.variants}),
    params:
        settings=settings(
            "check_labels",
            ("pyarrow",),
            label_kind=CAMPAIGN.corpus.columns.label_kind,
            protocol=CAMPAIGN.protocol.model_dump(
                mode="json",
                include={
                    "deliverable_column",
                    "deliverables",
                    "metric",
                    "metrics",
                    "subgroups",
                },
            ),
        ),
    message:
        "Check that corpus, protocol and model speak of the same answers"
    script:
        "../scripts/check_labels.py"
