"""Check predictions and judge quality, one job for all repetitions of an option.

In: passes/ and predictions/ of the option, corpus/reference.parquet and corpus/fingerprint.json,
model/fingerprint.json, protocol/seal.json. Out: checks/<offer>/<variant>.json,
quality/<offer>/<variant>.json.
"""

from atpar.canonical import file_digest


def files_of_repetitions(folder, suffix, variant=None):
    """Return an input function: this option's files of all repetitions, in their order.

    `variant` stands in for the wildcard's: the reference's files on the same offer.
    """

    def files(wildcards):
        name = variant or wildcards.variant
        return [
            f"{RESULTS}/{folder}/{wildcards.offer}/{name}/{repetition}{suffix}"
            for repetition in repetitions_of(wildcards.offer, name)
        ]

    return files


def quality_protocol():
    """Return the parts of the protocol that quality is judged by."""
    parts = {
        "deliverable_column",
        "deliverables",
        "metric",
        "label_threshold",
        "metrics",
        "minimum",
        "reproduction",
        "seed",
        "subgroup_minimum",
        "subgroup_size",
        "subgroup_values",
        "subgroups",
        "tolerance",
    }
    return CAMPAIGN.protocol.model_dump(mode="json", include=parts)


def own_metrics():
    """Return the digest of each file that holds a metric of the user's own."""
    protocol = CAMPAIGN.protocol
    modules = {name.partition(":")[0] for name in [protocol.metric, *protocol.metrics]}
    files = [Path(f"{module.replace('.', '/')}.py") for module in modules]
    return {str(path): file_digest(path) for path in files if path.is_file()}


REFERENCE = CAMPAIGN.protocol.tolerance.reference


rule check_predictions:
    input:
        records=files_of_repetitions("passes", ".json"),
        receipts=lambda w: CARRIED.receipts(w.offer),
        predictions=files_of_repetitions("predictions", ".parquet"),
        reference=f"{RESULTS}/corpus/reference.parquet",
        fingerprint=f"{RESULTS}/model/fingerprint.json",
        corpus=f"{RESULTS}/corpus/fingerprint.json",
        seal=f"{RESULTS}/protocol/seal.json",
    output:
        checks=f"{RESULTS}/checks/{{offer}}/{{variant}}.json",
    log:
        f"{RESULTS}/logs/check_predictions/{{offer}}/{{variant}}.log",
    params:
        settings=settings("check_predictions", ("pandera", "pyarrow")),
    message:
        "Check the predictions of {wildcards.offer} {wildcards.variant}"
    script:
        "../scripts/check_predictions.py"


rule evaluate_quality:
    input:
        checks=f"{RESULTS}/checks/{{offer}}/{{variant}}.json",
        predictions=files_of_repetitions("predictions", ".parquet"),
        reference_checks=f"{RESULTS}/checks/{{offer}}/{REFERENCE}.json",
        reference_predictions=files_of_repetitions("predictions", ".parquet", REFERENCE),
        reference=f"{RESULTS}/corpus/reference.parquet",
        fingerprint=f"{RESULTS}/model/fingerprint.json",
    output:
        quality=f"{RESULTS}/quality/{{offer}}/{{variant}}.json",
    log:
        f"{RESULTS}/logs/evaluate_quality/{{offer}}/{{variant}}.log",
    params:
        settings=settings(
            "evaluate_quality",
            ("numpy", "pyarrow", "scikit-learn", "scipy"),
            protocol=quality_protocol(),
            own_metrics=own_metrics(),
        ),
    message:
        "Evaluate the quality of {wildcards.offer} {wildcards.variant}"
    script:
        "../scripts/evaluate_quality.py"
