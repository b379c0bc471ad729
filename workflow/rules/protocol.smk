"""Seal what is fixed before durations are seen.

In: the protocol section, corpus/fingerprint.json. Out: protocol/seal.json.
"""


rule seal_protocol:
    input:
        fingerprint=f"{RESULTS}/corpus/fingerprint.json",
    output:
        seal=f"{RESULTS}/protocol/seal.json",
    log:
        f"{RESULTS}/logs/seal_protocol.log",
    params:
        settings=settings(
            "seal_protocol",
            protocol=CAMPAIGN.protocol.model_dump(mode="json"),
            follows=CAMPAIGN.follows,
        ),
    message:
        "Seal the protocol"
    script:
        "../scripts/seal_protocol.py"
