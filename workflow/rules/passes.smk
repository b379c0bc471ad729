"""Inspect the machine and measure the passes of the offers that it is.

In: corpus/evaluation.parquet, model/ (tokenizer, labels, fingerprint; the weights that it names),
protocol/seal.json. Out: offers/<offer>/environment.json, and for each pass its record and its
predictions; beside them, never declared and never deleted, journal/ and attempts/.
"""

import json
from functools import cache

from atpar.engine.environment import code_that_inspected
from atpar.engine.machine import machine_digest
from atpar.config.combinations import impossible_on
from atpar.config.variants import LABELS
from atpar.engine.disk import largest_file
from atpar.engine.packages import COMPUTING, EXPORTING, computing, lacking
from atpar.protocol.series import check_series

SERIES = check_series(
    [variant.model_dump(mode="json") for variant in PLAN.variants],
    control=CAMPAIGN.protocol.control or (),
)

for series in SERIES:
    if series.problem:
        logger.warning(f"{CAMPAIGN.tables.variants}: {series.problem}")

for variant in PLAN.variants if HERE else ():
    if absent := lacking(variant.model_dump(mode="json")):
        raise WorkflowError(
            f"{CAMPAIGN.tables.variants}: variant {variant.variant!r} can't be run here: {absent}; "
            "or take it out"
        )

for offer in PLAN.offers:
    for variant in PLAN.variants:
        refusal = impossible_on(variant.model_dump(mode="json"), offer.device)
        # An offer of device `auto` shows what it is when it is inspected; its passes are refused.
        if refusal and offer.device != "auto" and offer.offer in HERE:
            raise WorkflowError(
                f"variant {variant.variant!r} can't be run on offer {offer.offer!r} "
                f"(device {offer.device}): {refusal}; take one of the two out"
            )


def backend_files(variant):
    """Return further inputs of a pass, by the backend of its variant."""
    if PLAN.variant(variant).backend == "onnxruntime":
        return {"onnx": f"{RESULTS}/model/onnx/model.onnx"}
    return {}


def resumed_files(offer, variant, repetition):
    """Return what a pass goes on from, if its variant resumes another one's."""
    if variant not in PLAN.resumed:
        return {}
    other = f"{offer}/{PLAN.resumed[variant]}/{repetition}"
    return {
        "resumed_record": f"{RESULTS}/passes/{other}.json",
        "resumed_predictions": f"{RESULTS}/predictions/{other}.parquet",
    }


def pass_settings(script, offer, variant, **values):
    """Return the params of a rule that runs a variant on an offer: what its durations depend on."""
    protocol = {
        "busy_device",
        "deterministic",
        "label_threshold",
        "pass_timeout_s",
        "seed",
        "seeds",
        "warm_up",
    }
    return settings(
        script,
        packages=computing(PLAN.variant(variant).model_dump(mode="json")),
        modules=["atpar.engine.worker"],
        campaign=CAMPAIGN.campaign,
        # A series that is renamed, or a recovery declared afterwards, measures nothing again.
        variant=PLAN.variant(variant).model_dump(mode="json", exclude=LABELS - {"variant"}),
        offer=PLAN.offer(offer).model_dump(
            mode="json", include={"offer", "device", "threads", "lots"}
        ),
        protocol=CAMPAIGN.protocol.model_dump(mode="json", include=protocol),
        **values,
    )


@cache
def measurement_settings(offer, variant):
    """Return the params of an option's passes: asked for with each of them, and always the same."""
    return pass_settings("measure_pass", offer, variant)


def inspection_settings(offer):
    """Return the params of an inspection; code that would find the same changes nothing."""
    stated = PLAN.offer(offer).model_dump(mode="json", include={"offer", "device"})
    values = {"packages": COMPUTING, "offer": stated, "machine": machine_digest()}
    current = json.loads(settings("inspect_offer", **values))
    environment = Path(RESULTS, "offers", offer, "environment.json")
    code = code_that_inspected(environment, stated, current["code"])
    return canonical_json({**current, "code": code})


rule inspect_offer:
    output:
        environment=f"{RESULTS}/offers/{{offer}}/environment.json",
    log:
        f"{RESULTS}/logs/inspect_offer/{{offer}}.log",
    wildcard_constraints:
        offer=one_of(HERE),
    # Before any pass: a pass that waits for its offer's inspection would lose its turn.
    priority: len(PLACES) + 1
    resources:
        # A resource, since another price or spelling of the card must not measure anything again.
        card=lambda w: canonical_json(asdict(offer_card(w.offer))),
        # A person's word, and a file to time the disk with: neither measures anything again.
        network=offer_column("network"),
        corpus=lambda _: largest_file(CORPUS_FILES),
        slurm_partition=offer_column("partition"),
        gres=offer_column("gres"),
        constraint=offer_column("constraint"),
        slurm_extra=whole_node(),
        cpus_per_task=ALL_CPUS,
        runtime=START_AND_END_MIN,
    params:
        settings=lambda w: inspection_settings(w.offer),
    message:
        "Inspect this machine as offer {wildcards.offer}"
    script:
        "../scripts/inspect_offer.py"


rule export_onnx:
    input:
        fingerprint=f"{RESULTS}/model/fingerprint.json",
        tokenizer_settings=f"{RESULTS}/model/tokenizer_settings.json",
    output:
        model=f"{RESULTS}/model/onnx/model.onnx",
        export=f"{RESULTS}/model/onnx/export.json",
    log:
        f"{RESULTS}/logs/export_onnx.log",
    params:
        settings=settings("export_onnx", packages=EXPORTING),
    message:
        "Export the model for onnxruntime"
    script:
        "../scripts/export_onnx.py"


rule measure_pass:
    input:
        unpack(lambda w: backend_files(w.variant)),
        unpack(lambda w: resumed_files(w.offer, w.variant, w.repetition)),
        corpus=f"{RESULTS}/corpus/evaluation.parquet",
        corpus_fingerprint=f"{RESULTS}/corpus/fingerprint.json",
        tokenizer=f"{RESULTS}/model/tokenizer.json",
        tokenizer_settings=f"{RESULTS}/model/tokenizer_settings.json",
        fingerprint=f"{RESULTS}/model/fingerprint.json",
        labels=f"{RESULTS}/model/labels.json",
        seal=f"{RESULTS}/protocol/seal.json",
        environment=f"{RESULTS}/offers/{{offer}}/environment.json",
    output:
        record=f"{RESULTS}/passes/{{offer}}/{{variant}}/{{repetition}}.json",
        predictions=f"{RESULTS}/predictions/{{offer}}/{{variant}}/{{repetition}}.parquet",
    log:
        f"{RESULTS}/logs/measure_pass/{{offer}}/{{variant}}/{{repetition}}.log",
    wildcard_constraints:
        # Passes of other offers come from other machines: here they are plain sources.
        offer=one_of(HERE),
    priority: rank_priority
    # A pass takes every core, so that nothing computes beside it.
    threads: workflow.cores
    resources:
        gpu=1,
        slurm_partition=offer_column("partition"),
        gres=offer_column("gres"),
        constraint=offer_column("constraint"),
        slurm_extra=whole_node(),
        cpus_per_task=ALL_CPUS,
        runtime=pass_minutes,
        # Resources trigger no rerun, so a pass that was measured keeps its record when the
        # schedule around it grows.
        place=lambda w: canonical_json(place(w.offer, w.variant, w.repetition)),
        planned=lambda w: planned_text(w.offer, w.variant, w.repetition),
    params:
        settings=lambda w: measurement_settings(w.offer, w.variant),
    message:
        "Measure {wildcards.offer}/{wildcards.variant}, repetition {wildcards.repetition}: {resources.planned}"
    script:
        "../scripts/measure_pass.py"
