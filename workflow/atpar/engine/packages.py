"""The distributions that a pass computes with: their versions are part of what is compared."""

COMPUTING = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pyarrow")
