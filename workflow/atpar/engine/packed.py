"""Entries one behind the other in one row: nothing is padded, and none attends to another.

Everything but attention treats each token by itself, so a row of all tokens needs no change there;
positions begin anew with each entry. Attention is computed for each entry alone: entries of equal
length together, by torch's scaled_dot_product_attention, or all in one call of the flash kernel
with their bounds. No mask over the whole row is ever made, so the cost of attention is that of the
entries one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from atpar.engine.refused import Refused

NAME = "atpar_packed"
"""The name under which transformers finds the attention; it makes no mask for one of its kind."""
TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""Largest accepted difference of a logit between packed and single entries, relative to 1 + its
size; matrices of another shape are summed in another order."""
PROBE = (7, 3, 7, 1, 12)
"""Lengths of the entries that are compared at loading."""


@dataclass(frozen=True)
class Family:
    """How the models of a family continue from the hidden states of an entry."""

    head: Callable[[Any, Any], Any]
    """(model, hidden states of one token of each entry: entries x width) -> logits."""
    token: str = "first"
    """Which token of an entry stands for it: the `first`, or the `last` that isn't padding."""


def _pooled(model: Any, hidden: Any) -> Any:
    return model.classifier(model.base_model.pooler(hidden[:, None]))


def _classified(model: Any, hidden: Any) -> Any:
    return model.classifier(hidden[:, None])


def _projected(model: Any, hidden: Any) -> Any:
    return model.classifier(model.pre_classifier(hidden).relu())


def _scored(model: Any, hidden: Any) -> Any:
    return model.score(hidden)


FAMILIES = {
    "bert": Family(_pooled),
    "camembert": Family(_classified),
    "distilbert": Family(_projected),
    "electra": Family(_classified),
    "gpt2": Family(_scored, "last"),
    "llama": Family(_scored, "last"),
    "mistral": Family(_scored, "last"),
    "qwen2": Family(_scored, "last"),
    "qwen3": Family(_scored, "last"),
    "roberta": Family(_classified),
    "xlm-roberta": Family(_classified),
}
"""Model types whose packed logits are tested against their own forward pass."""


class Packing:
    """The packed forward pass of a model; made once, checked at once."""

    def __init__(self, model: Any, flash: bool, longest: int | None = None) -> None:
        """Raise Refused for a model that can't be packed, or whose packed logits differ.

        `longest` is the longest entry in tokens, where it is known.
        """
        kind = model.config.model_type
        if kind not in FAMILIES:
            raise Refused(
                f"padding is none, which is known for {', '.join(sorted(FAMILIES))} alone; this "
                f"model is a {kind}"
            )
        window = getattr(model.config, "sliding_window", None)
        if window is not None and (longest is None or longest > window):
            raise Refused(
                f"padding is none, but this model attends within a sliding window of {window} "
                "tokens, shorter than the longest entry; state a max_length within it"
            )
        self.family = FAMILIES[kind]
        self.flash = flash
        self.padding_index = getattr(_embeddings(model), "padding_idx", None)
        self.runs: list[tuple[int, int, int]] = []
        self.bounds: Any = None
        self._takes_types = hasattr(_embeddings(model), "token_type_embeddings")
        self._prove(model)

    def logits(self, model: Any, ids: Any, lengths: np.ndarray, types: Any = None) -> Any:
        """Return the logits (entries x classes) of a row of token ids (1 x tokens).

        `lengths` are the tokens of each entry, on the host, so that nothing waits for the device.
        """
        import torch

        starts = np.cumsum(lengths) - lengths
        self._bound(lengths, ids.device)
        more = {}
        if self._takes_types:
            # Without them the model would look for a row of zeros as long as one entry may be.
            more["token_type_ids"] = torch.zeros_like(ids) if types is None else types
        if self.family.token == "last":
            more["use_cache"] = False
        hidden = model.base_model(
            input_ids=ids,
            attention_mask=None,
            position_ids=self._positions(ids, starts, lengths),
            **more,
        ).last_hidden_state[0]
        return self.family.head(model, hidden[self._standing(model, ids, starts, lengths)])

    def _positions(self, ids: Any, starts: np.ndarray, lengths: np.ndarray) -> Any:
        """Return the position of each token within its entry."""
        first = np.repeat(starts, lengths)
        if self.padding_index is None:
            return _sent((np.arange(lengths.sum()) - first)[None], ids.device)
        # RoBERTa and its kin count from the padding token's id on, and leave out tokens that are
        # the padding token, which a text may hold as text.
        counts = ids != self.padding_index
        passed = counts.cumsum(1)
        before = (passed - counts.long())[0, _sent(first, ids.device)]
        return (passed - before) * counts + self.padding_index

    def _bound(self, lengths: np.ndarray, device: Any) -> None:
        """Keep where entries begin: runs of equal length, or the bounds that a kernel takes."""
        self.runs, start = [], 0
        for length, group in groupby(lengths.tolist()):
            count = len(list(group))
            self.runs.append((start, length, count))
            start += length * count
        if self.flash:
            bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
            self.bounds = (_sent(bounds, device), int(lengths.max()))

    def _standing(self, model: Any, ids: Any, starts: np.ndarray, lengths: np.ndarray) -> Any:
        """Return the index, in the row, of the token that stands for each entry."""
        import torch

        if self.family.token == "first":
            return _sent(starts, ids.device)
        pad = model.config.pad_token_id
        last = _sent(starts + lengths - 1, ids.device)
        if pad is None:
            return last
        # As transformers does: the last token that isn't the padding token, the entry's first one
        # where there is no other.
        places = torch.arange(ids.shape[1], device=ids.device)
        seen = torch.where(ids[0] != pad, places, -1).cummax(0).values
        return torch.maximum(seen[last], _sent(starts, ids.device))

    def attend(
        self,
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,  # noqa: ARG002
        dropout: float = 0.0,  # noqa: ARG002
        scaling: float | None = None,
        is_causal: bool | None = None,
        **_: Any,
    ) -> tuple[Any, None]:
        """Return attention within each entry: 1 x tokens x heads x width of a head."""
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        grouped = query.shape[1] != key.shape[1]
        parts = [part[0].transpose(0, 1) for part in (query, key, value)]
        if self.flash:
            return self._flash(parts, causal, scaling, grouped)[None], None
        return self._by_runs(parts, causal, scaling, grouped)[None], None

    def _by_runs(self, parts: list[Any], causal: bool, scaling: float | None, grouped: bool) -> Any:
        from torch.nn.functional import scaled_dot_product_attention

        together = parts[0].new_empty(parts[0].shape)
        for start, length, count in self.runs:
            end = start + length * count
            query, key, value = (
                part[start:end].unflatten(0, (count, length)).transpose(1, 2) for part in parts
            )
            found = scaled_dot_product_attention(
                query, key, value, is_causal=causal, scale=scaling, enable_gqa=grouped
            )
            together[start:end].unflatten(0, (count, length)).copy_(found.transpose(1, 2))
        return together

    def _flash(self, parts: list[Any], causal: bool, scaling: float | None, grouped: bool) -> Any:
        from torch.nn.attention.varlen import varlen_attn

        bounds, longest = self.bounds
        window = (-1, 0) if causal else (-1, -1)
        query, key, value = (part.contiguous() for part in parts)
        return varlen_attn(
            query, key, value, bounds, bounds, longest, longest,
            scale=scaling, window_size=window, enable_gqa=grouped,
        )  # fmt: skip

    def _prove(self, model: Any) -> None:
        """Compare packed entries with the model's own forward pass, entry by entry."""
        import torch
        from transformers import AttentionInterface

        draw = np.random.default_rng(0)
        device, tokens = model.device, min(model.config.vocab_size, 1000)
        known = np.setdiff1d(np.arange(tokens), [model.config.pad_token_id or 0])
        entries = [torch.from_numpy(draw.choice(known, (1, n))).to(device) for n in PROBE]
        with torch.inference_mode():
            alone = torch.cat([model(input_ids=one).logits for one in entries]).float()
            AttentionInterface.register(NAME, self.attend)
            model.set_attn_implementation(NAME)
            packed = self.logits(model, torch.cat(entries, 1), np.array(PROBE)).float()
        difference = ((packed - alone).abs() / (1 + alone.abs())).max().item()
        kind = str(model.dtype).removeprefix("torch.")
        if kind == "float32" and torch.get_float32_matmul_precision() != "highest":
            kind = "float16"  # TF32 computes with as many digits.
        accepted = TOLERANCE[kind]
        if not difference <= accepted:
            raise Refused(
                f"padding is none, but this {model.config.model_type} computes other logits for "
                f"packed entries than for single ones (largest relative difference "
                f"{difference:.2g}, accepted {accepted:g})"
            )


def _embeddings(model: Any) -> Any:
    return getattr(model.base_model, "embeddings", None)


def _sent(array: np.ndarray, device: Any) -> Any:
    """Return an array as a tensor on the device, without waiting for the copy."""
    import torch

    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)
