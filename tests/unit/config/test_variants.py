"""Combinations of options that can't be run are refused with the reason."""

import pytest
from pydantic import ValidationError

from atpar.config.combinations import impossible_on
from atpar.config.variants import Variant

GOOD = {"variant": "v", "batch_size": 8}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"batch_size": None}, "either `batch_size`"),
        ({"token_budget": 100}, "either `batch_size`"),
        ({"window": 100}, "needs `order: length`"),
        ({"padding": "multiple_of"}, "belong together"),
        ({"pad_multiple": 8}, "belong together"),
        ({"attention": "flash"}, "bf16 or fp16"),
        ({"shapes": "dynamic"}, "compiled variant"),
        ({"quantization": "int8-dynamic", "precision": "bf16"}, "fp32 weights"),
        ({"quantization": "int8-dynamic", "compile": "default"}, "aren't compiled"),
        ({"backend": "onnxruntime", "compile": "default"}, "its own graph"),
        ({"backend": "onnxruntime", "precision": "bf16"}, "computes in fp32"),
        ({"backend": "onnxruntime", "quantization": "int8-dynamic"}, "torch's"),
        ({"backend": "onnxruntime", "attention": "eager"}, "attention of its own"),
        ({"quantization": "int8-bitsandbytes"}, "bf16 or fp16"),
        (
            {"quantization": "int8-bitsandbytes", "precision": "bf16", "compile": "default"},
            "aren't compiled",
        ),
        ({"device_map": "auto", "backend": "onnxruntime"}, "torch's layers"),
        ({"device_map": "auto", "processes": 2}, "a GPU each"),
        ({"device_map": "auto", "compile": "default"}, "spread aren't compiled"),
        ({"device_map": "auto", "padding": "none"}, "on one GPU"),
        ({"device_map": "auto", "quantization": "int8-weight-only"}, "not both"),
        ({"backend": "onnxruntime", "padding": "none"}, "takes padded batches"),
        ({"padding": "none", "attention": "eager"}, "sdpa or flash"),
        ({"padding": "none", "compile": "default"}, "differ in shape"),
        ({"padding": "none", "pad_side": "left"}, "pads on no side"),
        ({"recovers": "v"}, "itself"),
        ({"resume": True}, "name it in `recovers`"),
        ({"resume": True, "recovers": "b", "processes": 2}, "by one process"),
    ],
    ids=str,
)
def test_impossible_combinations_are_refused(options, part):
    with pytest.raises(ValidationError, match=part):
        Variant(**{**GOOD, **options})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": None, "token_budget": 2048, "order": "length", "window": 512},
        {"padding": "multiple_of", "pad_multiple": 64},
        {"precision": "bf16", "attention": "flash"},
        {"padding": "none", "order": "length"},
        {"padding": "none", "quantization": "int8-dynamic"},
        {"compile": "max-autotune", "shapes": "static"},
        {"quantization": "int8-dynamic"},
        {"quantization": "int8-weight-only", "precision": "bf16", "compile": "default"},
        {"quantization": "int8-dynamic-torchao"},
        {"quantization": "int8-bitsandbytes", "precision": "fp16"},
        {"device_map": "balanced", "precision": "bf16"},
        {"backend": "onnxruntime"},
    ],
    ids=str,
)
def test_possible_combinations_are_taken(options):
    Variant(**{**GOOD, **options})


@pytest.mark.parametrize(
    ("device", "options", "possible"),
    [
        ("cpu", {"precision": "tf32"}, False),
        ("cuda", {"precision": "tf32"}, True),
        ("rocm", {"precision": "tf32"}, False),
        ("cpu", {"precision": "bf16", "attention": "flash"}, False),
        ("cuda", {"precision": "bf16", "attention": "flash"}, True),
        ("cuda", {"quantization": "int8-dynamic"}, False),
        ("cpu", {"quantization": "int8-dynamic"}, True),
        ("cuda", {"quantization": "int8-dynamic-torchao"}, True),
        ("cpu", {"quantization": "int8-dynamic-torchao"}, True),
        ("cpu", {"quantization": "int8-weight-only"}, True),
        ("cpu", {"quantization": "int8-bitsandbytes", "precision": "bf16"}, False),
        ("cuda", {"quantization": "int8-bitsandbytes", "precision": "bf16"}, True),
        ("cpu", {"device_map": "auto"}, False),
        ("cuda", {"device_map": "auto"}, True),
        ("cuda", {"backend": "onnxruntime"}, False),
        ("cpu", {"precision": "bf16", "compile": "default"}, True),
    ],
)
def test_devices_have_limits_of_their_own(device, options, possible):
    variant = Variant(**{**GOOD, **options}).model_dump()
    assert (impossible_on(variant, device) is None) == possible
