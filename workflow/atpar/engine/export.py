"""Export the model for onnxruntime: once, as a stage of its own, its time kept as preparation."""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from atpar.canonical import file_digest, read_json, whole_file, write_json
from atpar.engine.classifier import Classifier, architecture, model_class
from atpar.engine.job import model_folder
from atpar.engine.onnx_model import OnnxClassifier
from atpar.engine.weights import verify_files
from atpar.errors import AtparError

DEFINITION = 1
OPSET = 18
LARGEST_BYTES = 2**31 - 2**24
"""Of the parameters, below protobuf's limit for one message, with room for the graph."""
TOLERANCE = 1e-3
"""Largest accepted difference of a logit between the exported model and torch's."""
PLAIN = {
    "precision": "fp32",
    "quantization": "none",
    "device_map": None,
    "attention": "eager",
    "compile": "none",
    "shapes": None,
    "padding": "longest",
}


def export_onnx(
    fingerprint: Path, tokenizer_settings: Path, model: Path, export: Path
) -> dict[str, Any]:
    """Write the model as ONNX with dynamic batch and width, and what the export was like.

    The exported model is compared with torch's on inputs of other shapes than it was traced with.
    Raises AtparError for a model that can't be exported, or whose export computes something else.
    """
    start = time.perf_counter()
    facts, settings = read_json(fingerprint), read_json(tokenizer_settings)
    verify_files(facts)
    folder = model_folder(facts)
    classifier = Classifier(
        model_class(architecture(folder)),
        folder,
        variant=PLAIN,
        target="cpu",
        pad_token_id=facts["pad_token_id"],
    )
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids")
             if name in settings["input_names"]]  # fmt: skip
    model.parent.mkdir(parents=True, exist_ok=True)
    _refuse_too_large(classifier, folder)
    with whole_file(model) as temporary:
        _export(classifier.model, names, temporary)
    difference = _difference(classifier, model, facts)
    content = {
        "definition": DEFINITION,
        "model_digest": facts["model_digest"],
        "sha256": file_digest(model),
        "bytes": model.stat().st_size,
        "opset": OPSET,
        "inputs": names,
        "largest_logit_difference": difference,
        "seconds": time.perf_counter() - start,
    }
    if not difference <= TOLERANCE:
        raise AtparError(
            f"{folder}: the exported model's logits differ by {difference:.3g} from torch's "
            f"(accepted: {TOLERANCE}); leave the onnxruntime variants out for this model"
        )
    write_json(export, content)
    return content


def _refuse_too_large(classifier: Classifier, folder: Path) -> None:
    if classifier.parameter_bytes > LARGEST_BYTES:
        raise AtparError(
            f"{folder}: {classifier.parameter_bytes / 2**30:.1f} GiB of parameters; an ONNX file "
            "holds at most 2 GiB: leave the onnxruntime variants out for this model"
        )


def _export(model: Any, names: list[str], path: Path) -> None:
    import torch

    ids = torch.ones(2, 9, dtype=torch.int64)
    # One tensor given twice would be taken for one input.
    inputs = {name: ids.clone() for name in names}
    batch, width = torch.export.Dim("batch", min=1), torch.export.Dim("width", min=2)
    shapes = {name: {0: batch, 1: width} for name in names}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                model,
                kwargs=inputs,
                input_names=names,
                output_names=["logits"],
                dynamic_shapes=shapes,
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
        program.save(path, external_data=False)
    except (RuntimeError, ValueError, TypeError, ImportError) as error:
        raise AtparError(
            f"this model can't be exported to ONNX: {type(error).__name__}: "
            f"{str(error).splitlines()[0]}; leave the onnxruntime variants out"
        ) from error


def _difference(classifier: Classifier, path: Path, facts: dict[str, Any]) -> float:
    import torch

    session = OnnxClassifier(path, threads=1)
    draw = np.random.default_rng(0)
    largest = 0.0
    for entries, width in ((1, 5), (3, min(31, facts["usable_length"] or 31)), (5, 12)):
        ids = draw.integers(1, 100, (entries, width)) % _vocabulary(classifier)
        mask = np.ones_like(ids)
        mask[0, width // 2 :] = 0
        expected = classifier(torch.from_numpy(ids), torch.from_numpy(mask), None).numpy()
        # NumPy's maximum keeps a NaN; the built-in one may lose it.
        largest = np.maximum(largest, np.abs(session(ids, mask, None) - expected).max())
    return float(largest)


def _vocabulary(classifier: Classifier) -> int:
    return classifier.model.config.vocab_size
