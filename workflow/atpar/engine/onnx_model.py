"""An exported classifier in onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np

from atpar.engine.in_effect import process_settings


class OnnxClassifier:
    """A session over an exported graph; token ids in, logits out, all NumPy arrays."""

    attention_used = "onnxruntime"
    dtype_used = "float32"
    graphs: int | None = None
    compiles = False

    def __init__(self, path: Path, threads: int) -> None:
        import onnxruntime

        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {one.name for one in self._session.get_inputs()}
        data = path.with_name(path.name + ".data")
        self.parameter_bytes = path.stat().st_size + (data.stat().st_size if data.exists() else 0)

    def __call__(self, ids: np.ndarray, mask: np.ndarray | None, types: np.ndarray | None) -> Any:
        """Return the logits (entries x classes) of token ids."""
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids) if mask is None else mask,
            "token_type_ids": np.zeros_like(ids) if types is None else types,
        }
        inputs = {name: value for name, value in given.items() if name in self._inputs}
        return self._session.run(["logits"], inputs)[0]

    @property
    def in_effect(self) -> dict[str, Any]:
        """The settings that were in effect; threads are those of the session."""
        return {"threads": self._threads, **process_settings()}

    @property
    def notes(self) -> list[str]:
        """What a reader of the record should know of how this was computed."""
        return [f"onnxruntime, providers {', '.join(self._session.get_providers())}"]
