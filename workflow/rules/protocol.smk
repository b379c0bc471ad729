"""Seal what is fixed before durations are seen.

In: the protocol section, corpus/fingerprint.json, corpus/evaluation.parquet. Out: protocol/seal.json.
"""


rule seal_protocol:
    input:
        fingerprint=f"{RESULTS}/corpus/fingerprint.json",
        evaluation=f"{RESULTS}/corpus/evaluation.parquet",
    output:
        seal=f"{RESULTS}/protocol/seal.json",
    log:
        f"{RESULTS}/logs/seal_protocol.log",
    params:
        settings=settings(
            "seal_protocol",
            ("pyarrow",),
            protocol=CAMPAIGN.protocol.model_dump(mode="json"),
            follows=CAMPAIGN.follows,
        ),
    message:
        "Seal the protocol"
    script:
        "../scripts/seal_protocol.py"
