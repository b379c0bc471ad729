"""Variants: ways of running the model [P7], [P10]."""

from typing import Literal

from pydantic import Field, model_validator

from atpar.config.base import Model, Name

HALF = ("bf16", "fp16")
LABELS = frozenset({"variant", "series", "recovers"})
"""Columns that name a variant and change nothing of what it does."""


class Variant(Model):
    """One row of the variants table."""

    variant: Name
    """Its name."""
    series: Name = "first"
    """The series it belongs to; variants of a series differ in one option."""
    precision: Literal["fp32", "tf32", "bf16", "fp16"] = "fp32"
    """Type of weights and arithmetic; `tf32`: fp32 weights, matrices multiplied in TF32 (GPU)."""
    quantization: Literal[
        "none", "int8-dynamic", "int8-weight-only", "int8-dynamic-torchao", "int8-bitsandbytes"
    ] = "none"
    """Linear layers in int8: `int8-dynamic` by torch (CPU), activations as they come;
    `int8-weight-only` and `int8-dynamic-torchao` by torchao; `int8-bitsandbytes` (GPU)."""
    batch_size: int | None = Field(None, ge=1)
    """Entries in a batch; or give `token_budget`."""
    token_budget: int | None = Field(None, ge=1)
    """As many entries in a batch as fit this many tokens, padding included."""
    order: Literal["corpus", "length"] = "corpus"
    """`length` groups entries of like length; results are written back in corpus order."""
    window: int | None = Field(None, ge=1)
    """Entries within which `order: length` groups; null: the whole corpus."""
    padding: Literal["longest", "max_length", "multiple_of", "none"] = "longest"
    """Pad to the longest entry of a batch, to `max_length`, or to a multiple of `pad_multiple`;
    `none` packs a batch: one row of tokens, attention within each entry alone (torch)."""
    pad_multiple: int | None = Field(None, ge=2)
    """For `padding: multiple_of`: widths are multiples of this many tokens."""
    pad_side: Literal["right", "left"] | None = None
    """null: the tokenizer's own side."""
    max_length: int | None = Field(None, ge=1)
    """Longest input in tokens; longer ones are truncated and counted. null: the model's limit."""
    truncation_side: Literal["right", "left"] | None = None
    """Which end of a long input is cut off; null: the tokenizer's own."""
    attention: Literal["sdpa", "eager", "flash"] = "sdpa"
    """Attention backend asked for; the record says what was used."""
    compile: Literal["none", "default", "reduce-overhead", "max-autotune"] = "none"
    """Mode of torch.compile; its time is the phase `compile`, recompilations are counted."""
    shapes: Literal["auto", "dynamic", "static"] | None = None
    """For a compiled variant: how batches of other widths are met; null: `auto`."""
    backend: Literal["torch", "onnxruntime"] = "torch"
    """What computes; `onnxruntime` exports the model once, as a stage of its own."""
    processes: int = Field(1, ge=1)
    """Processes that share the corpus, one to a GPU, or to a part of the CPU's threads."""
    device_map: Literal["auto", "balanced", "sequential"] | None = None
    """Spread a model that is too large for one GPU over all of them, by accelerate; null: one."""
    seed: int | None = Field(None, ge=0)
    """Seed of this variant, for a stochastic protocol; null: the protocol's."""
    recovers: Name | None = None
    """The variant whose failures this one recovers; its time counts with it [P18]."""
    resume: bool = False
    """Take over the entries that the recovered variant completed in the same repetition, and
    compute the rest; the main time holds the time of that attempt's span too."""

    @model_validator(mode="after")
    def _can_be_run(self) -> "Variant":
        """Refuse what can't be run on any machine, with the reason."""
        for refused, reason in self._refusals():
            if refused:
                raise ValueError(reason)
        return self

    def _refusals(self) -> list[tuple[bool, str]]:
        onnx = self.backend == "onnxruntime"
        return [
            (self.recovers == self.variant, "`recovers` names the variant itself"),
            (
                (self.batch_size is None) == (self.token_budget is None),
                "state either `batch_size` (entries) or `token_budget` (tokens with padding)",
            ),
            (
                self.window is not None and self.order != "length",
                "`window` bounds grouping, so it needs `order: length`",
            ),
            (
                (self.padding == "multiple_of") != (self.pad_multiple is not None),
                "`padding: multiple_of` and `pad_multiple` belong together",
            ),
            (
                self.padding == "none" and onnx,
                "the exported model takes padded batches; packing (`padding: none`) is torch's",
            ),
            (
                self.padding == "none" and self.attention == "eager",
                "packed entries (`padding: none`) are attended by sdpa or flash, not by eager",
            ),
            (
                self.padding == "none" and self.compile != "none",
                "packed batches (`padding: none`) differ in shape each time, so that compiling "
                "would never end; leave `compile` at none",
            ),
            (
                self.padding == "none" and self.pad_side is not None,
                "`padding: none` pads on no side; leave `pad_side` empty",
            ),
            (
                self.attention == "flash" and self.precision not in HALF,
                "flash attention computes in bf16 or fp16 only; state the precision",
            ),
            (
                self.shapes is not None and self.compile == "none",
                "`shapes` is for a compiled variant; state `compile`",
            ),
            (
                self.quantization == "int8-dynamic" and self.precision != "fp32",
                "int8-dynamic quantizes fp32 weights; leave `precision` at fp32",
            ),
            (
                self.quantization == "int8-bitsandbytes" and self.precision not in HALF,
                "int8-bitsandbytes computes beside its int8 layers in bf16 or fp16; state the "
                "precision",
            ),
            (
                self.quantization in ("int8-dynamic", "int8-bitsandbytes")
                and self.compile != "none",
                f"layers of {self.quantization} aren't compiled; leave `compile` at none, or take "
                "int8-weight-only or int8-dynamic-torchao",
            ),
            *self._refusals_of_spreading(),
            (
                onnx and self.compile != "none",
                "onnxruntime optimises its own graph; leave `compile` at none",
            ),
            (
                onnx and self.quantization != "none",
                f"{self.quantization} is torch's; leave `quantization` at none with onnxruntime",
            ),
            (
                onnx and self.precision != "fp32",
                "the exported model computes in fp32; leave `precision` at fp32",
            ),
            (
                onnx and self.attention != "sdpa",
                "onnxruntime has attention of its own; leave `attention` at sdpa",
            ),
            (
                self.resume and self.recovers is None,
                "`resume` goes on where another variant's attempt ended; name it in `recovers`",
            ),
            (
                self.resume and self.processes > 1,
                "a pass is resumed by one process; leave `processes` at 1",
            ),
            (
                self.processes > 1 and self.window is not None,
                "processes share the whole corpus; leave `window` empty",
            ),
        ]

    def _refusals_of_spreading(self) -> list[tuple[bool, str]]:
        spread = self.device_map is not None
        return [
            (
                spread and self.backend == "onnxruntime",
                "`device_map` spreads torch's layers; leave it empty with onnxruntime",
            ),
            (
                spread and self.processes > 1,
                "either `processes` have a GPU each, or `device_map` spreads one over all of them",
            ),
            (
                spread and self.compile != "none",
                "layers that are spread aren't compiled; leave `compile` at none",
            ),
            (
                spread and self.padding == "none",
                "packed entries (`padding: none`) need the whole model on one GPU",
            ),
            (
                spread and self.quantization != "none",
                "a model is quantized or spread, not both; leave `quantization` at none",
            ),
        ]
