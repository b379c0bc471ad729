"""The distributions that a pass computes with: their versions are part of what is compared."""

COMPUTING = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pyarrow")
EXPORTING = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")


def computing(backend: str) -> tuple[str, ...]:
    """Return the distributions that passes of a backend compute with."""
    if backend == "onnxruntime":
        return ("onnxruntime", "tokenizers", "numpy", "pyarrow")
    return COMPUTING
