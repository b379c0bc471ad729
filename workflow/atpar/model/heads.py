"""What a model's outputs mean: the scores of an entry, and the answer predicted from them.

Light (NumPy alone): the worker imports it before anything else is loaded, and the checks of
predictions apply the very rule that made them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from atpar.config.kinds import OF_HEAD
from atpar.errors import AtparError

SINGLE_LABEL, BINARY = "single_label", "binary"
MULTI_LABEL, REGRESSION = "multi_label", "regression"
PROBLEM_TYPES = {
    "single_label_classification": SINGLE_LABEL,
    "multi_label_classification": MULTI_LABEL,
    "regression": REGRESSION,
}
"""How configurations of transformers name them."""


@dataclass(frozen=True)
class Head:
    """A head and how its outputs are read.

    `labels` name the scores of an entry, in order. single_label: softmax over one output a
    class. binary: one output, the logistic function of which is the score of the second label.
    multi_label: the same for each output. regression: the output itself.
    """

    kind: str
    labels: tuple[str, ...]
    threshold: float = 0.5
    """binary and multi_label: the score from which a label is predicted, equality included."""

    @property
    def answer(self) -> str:
        """`single`, `multiple` or `number`."""
        return OF_HEAD[self.kind]

    def scores(self, logits: np.ndarray) -> np.ndarray:
        """Return the scores (float32, entries x labels) of logits; NaN where one isn't finite."""
        if self.kind == SINGLE_LABEL:
            return softmax(logits)
        if self.kind == REGRESSION:
            return np.where(np.isfinite(logits), logits, np.nan).astype(np.float32, copy=False)
        chance = logistic(logits)
        return np.concatenate([1 - chance, chance], axis=1) if self.kind == BINARY else chance

    def predicted(self, scores: np.ndarray) -> np.ndarray:
        """Return what is predicted: indices of labels, or for multi_label a flag for each label.

        For regression it is the score. Rows with a score that isn't finite mean nothing here.
        """
        if self.kind == REGRESSION:
            return scores[:, 0]
        reached = scores >= np.float32(self.threshold)
        if self.kind == MULTI_LABEL:
            return reached
        return reached[:, 1].astype(np.int64) if self.kind == BINARY else scores.argmax(axis=1)

    def follows(self, predicted: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return for each row whether the prediction is one that its scores allow.

        `predicted` is what `atpar.quality.predictions` reads. Of several largest scores any will
        do.
        """
        if self.kind == MULTI_LABEL:
            return (predicted == self.predicted(scores)).all(axis=1)
        if self.kind == SINGLE_LABEL:
            own = np.take_along_axis(scores, np.maximum(predicted, 0)[:, None], axis=1)[:, 0]
            return own >= scores.max(axis=1, initial=-np.inf)
        return predicted == self.predicted(scores)

    def column_type(self) -> Any:
        """Return the Arrow type of the column `predicted`."""
        import pyarrow as pa

        kinds = {"single": pa.string(), "multiple": pa.list_(pa.string()), "number": pa.float32()}
        return kinds[self.answer]

    def column(self, scores: np.ndarray) -> Any:
        """Return the column `predicted` of these scores; null where a score isn't finite."""
        import pyarrow as pa

        finite = np.isfinite(scores).all(axis=1)
        if self.kind == REGRESSION:
            return pa.array(scores[:, 0], pa.float32(), mask=~finite)
        predicted = self.predicted(scores)
        if self.kind != MULTI_LABEL:
            names = np.array([*self.labels, None], dtype=object)
            return pa.array(names[np.where(finite, predicted, -1)], pa.string())
        predicted &= finite[:, None]
        ends = np.concatenate([[0], np.cumsum(predicted.sum(axis=1))])
        values = pa.array(self.labels, pa.string()).take(pa.array(np.nonzero(predicted)[1]))
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=pa.array(~finite))


def head_of(facts: dict[str, Any], threshold: float | None) -> Head:
    """Return the head that model/fingerprint.json or model/labels.json describe.

    Files that name no head are of single-label models: no other was supported before.
    """
    kind = facts.get("head", SINGLE_LABEL)
    return Head(kind, tuple(facts["labels"]), 0.5 if threshold is None else threshold)


def read_head(path: Path, protocol: dict[str, Any]) -> Head:
    """Return the head that a file describes, with the sealed threshold of the protocol."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    return head_of(facts, protocol.get("label_threshold"))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of each row (float32); rows with NaN or infinity become NaN."""
    logits = logits.astype(np.float32, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
    # Minus infinity alone would give 0, as if its class were ruled out.
    shares[~np.isfinite(logits).all(axis=1)] = np.nan
    return shares


def logistic(logits: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-logit)) as float32, NaN where the logit is NaN or infinite."""
    logits = logits.astype(np.float32, copy=False)
    # Of the two equal forms each side takes the one that can't overflow.
    small = np.exp(-np.abs(logits))
    chance = np.where(logits >= 0, 1 / (1 + small), small / (1 + small))
    return np.where(np.isfinite(logits), chance, np.float32(np.nan)).astype(np.float32)


def head_kind(
    problem_type: str | None, outputs: int, stated: str | None, labels: Sequence | None, where: str
) -> str:
    """Return which head a model has, or refuse one that can't be judged, with the remedy.

    `problem_type` and the number of `outputs` are those of config.json, `stated` is `model.head`,
    `labels` is `model.labels`. `where` starts a message.
    """
    known = PROBLEM_TYPES.get(problem_type)
    if stated is None and outputs == 1 and known in (None, SINGLE_LABEL):
        raise AtparError(
            f"{where}: the head has 1 output, and nothing says what it means (the largest of one "
            "score is always the same class); set model.head to `binary`, with two names under "
            "model.labels, or to `regression`"
        )
    kind = stated or known or SINGLE_LABEL
    # A single output trained with binary cross-entropy is saved as either of the two.
    loose = kind == BINARY and known in (SINGLE_LABEL, MULTI_LABEL)
    if known not in (None, kind) and not loose:
        raise AtparError(
            f"{where}: problem_type is {problem_type!r}, but model.head says {kind!r}; put right "
            "the one that is wrong"
        )
    if kind in (BINARY, REGRESSION) and outputs != 1:
        one = "a label" if kind == BINARY else "a number"
        raise AtparError(
            f"{where}: the head has {outputs} outputs, but {kind} means one output, {one} an "
            "entry; set model.head to what the outputs were trained for, or use a model with one"
        )
    if kind == SINGLE_LABEL and outputs < 2:
        raise AtparError(
            f"{where}: the head has {outputs} output, and the largest of one score is always the "
            "same class; set model.head to `binary` or `regression`"
        )
    if kind == BINARY and (labels is None or len(labels) != 2):
        raise AtparError(
            f"{where}: a binary head of one output needs two names under model.labels: the label "
            "of a low score first, that of a high score second"
        )
    return kind
