"""Carry what was measured between machines.

`export` packs the offers of this node into one archive. An archive in results/<campaign>/incoming/
is taken in by `merge`, or by any target that needs it: its records then are plain sources, as if
they had been measured here, and nothing is measured again.

With `shared` in the configuration, `upload` measures and puts each pass into the shared storage
as soon as it is finished, so that a node that vanishes loses at most the pass that was running;
`fetch` brings what isn't here into incoming/.

In: the node's journal, attempts, records, predictions, environment, checks; or incoming/**.zip.
Out: export/<offers>.zip, or one archive a pass in the shared storage; or merged/<archive>.json,
and the files of the offers elsewhere.
"""

from importlib.util import find_spec

from atpar.carry.export import state

for fault in CARRIED.faults:
    logger.warning(fault)


rule export_share:
    output:
        share=f"{RESULTS}/export/{'+'.join(HERE) or 'none'}.zip",
    log:
        f"{RESULTS}/logs/export_share.log",
    # After the passes that are asked for in the same call.
    priority: -1
    params:
        settings=lambda w: settings(
            "export_share",
            campaign=CAMPAIGN.campaign,
            offers=list(HERE),
            state=state(Path(RESULTS), HERE),
        ),
    message:
        "Pack what was measured of {HERE} into {output.share}"
    script:
        "../scripts/export_share.py"


rule export:
    input:
        rules.export_share.output,


if CARRIED.due:

    rule merge_shares:
        input:
            archives=[str(path) for path in CARRIED.waiting],
        output:
            receipts=[str(path) for path in CARRIED.due],
            brought=sorted(CARRIED.promised),
        log:
            f"{RESULTS}/logs/merge_shares.log",
        params:
            settings=settings(
                "merge_shares",
                expected={
                    "campaign": CAMPAIGN.campaign,
                    "offers": [offer.offer for offer in PLAN.offers],
                    "here": list(HERE),
                    "variants": {
                        variant.variant: variant.model_dump(mode="json")
                        for variant in PLAN.variants
                    },
                    "devices": {
                        offer.offer: offer.model_dump(mode="json", include={"device", "threads"})
                        for offer in PLAN.offers
                    },
                },
            ),
        message:
            "Take in {input.archives}"
        script:
            "../scripts/merge_shares.py"


rule merge:
    input:
        # Shares of this node's own offers too: what it measured before it was wiped.
        sorted({*CARRIED.receipts(), *map(str, CARRIED.due)}),


if CAMPAIGN.shared:

    if not find_spec("snakemake_storage_plugin_s3"):
        raise WorkflowError(
            "`shared` names a storage, but its plugin isn't installed: "
            "pip install -r requirements-s3.txt"
        )

    def shared_pass(offer, variant, repetition, **options):
        """Return a pass's archive in the shared storage."""
        return storage.s3(
            f"{CAMPAIGN.shared}/{CAMPAIGN.campaign}/{offer}/{variant}/{repetition}.zip", **options
        )

    def shared_elsewhere(offers):
        """Return the passes in the shared storage that this machine doesn't have.

        Also of rounds that another machine granted itself.
        """
        extension = CAMPAIGN.protocol.extension
        most = extension.limit if extension.mode == "automatic" else PLAN.repetitions
        return [
            (offer, variant, repetition)
            for offer in offers
            for variant in VARIANTS
            for repetition in range(1, most + 1)
            if not Path(f"{RESULTS}/passes/{offer}/{variant}/{repetition}.json").exists()
            and shared_pass(offer, variant, repetition).flags["storage_object"].exists()
        ]

    def uploads(_):
        """Return the archives of all passes of this node, or say that some must be fetched."""
        elsewhere = shared_elsewhere(HERE)
        if elsewhere:
            raise WorkflowError(
                f"{len(elsewhere)} passes of this node's offers are in {CAMPAIGN.shared} already, "
                "measured by another machine or before this one was wiped; take them in first: "
                "`snakemake fetch`, then `snakemake merge`"
            )
        return [
            # Asked for, but not downloaded again.
            shared_pass(offer, variant, repetition, retrieve=False)
            for offer in HERE
            for variant in VARIANTS
            for repetition in repetitions_of(offer, variant)
        ]

    rule share_pass:
        input:
            record=f"{RESULTS}/passes/{{offer}}/{{variant}}/{{repetition}}.json",
        output:
            archive=shared_pass("{offer}", "{variant}", "{repetition}"),
        log:
            f"{RESULTS}/logs/share_pass/{{offer}}/{{variant}}/{{repetition}}.log",
        wildcard_constraints:
            offer=one_of(HERE),
        # Before the next pass begins.
        priority: len(PLACES) + 1
        params:
            settings=settings("share_pass", campaign=CAMPAIGN.campaign),
        message:
            "Put {wildcards.offer}/{wildcards.variant}, repetition {wildcards.repetition}, into {CAMPAIGN.shared}"
        script:
            "../scripts/share_pass.py"

    rule upload:
        input:
            uploads,

    rule fetch_share:
        input:
            archive=shared_pass("{offer}", "{variant}", "{repetition}"),
        output:
            archive=f"{RESULTS}/incoming/{{offer}}/{{variant}}/{{repetition}}.zip",
        log:
            f"{RESULTS}/logs/fetch_share/{{offer}}/{{variant}}/{{repetition}}.log",
        message:
            "Fetch {wildcards.offer}/{wildcards.variant}, repetition {wildcards.repetition}, from {CAMPAIGN.shared}"
        shell:
            "cp -- {input.archive:q} {output.archive:q} 2> {log:q}"

    rule fetch:
        input:
            lambda _: [
                f"{RESULTS}/incoming/{offer}/{variant}/{repetition}.zip"
                for offer, variant, repetition in shared_elsewhere(
                    [offer.offer for offer in PLAN.offers]
                )
            ],
