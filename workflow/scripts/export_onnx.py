"""Export the model for variants that onnxruntime computes."""

from pathlib import Path

from atpar.engine.export import export_onnx
from atpar.stage import stage

with stage(snakemake):
    export_onnx(
        Path(snakemake.input.fingerprint),
        Path(snakemake.input.tokenizer_settings),
        Path(snakemake.output.model),
        Path(snakemake.output.export),
    )
