"""Loss functions: one forward pass of a model, as a function of a batch and a perturbation of its word embeddings.

- :class:`LossFunction` is what an adversary calls.
- :class:`TrainingLoss` is what the training loop holds: a loss function with its model and a hook at the start of each step.
- :class:`ClassificationLoss` implements it for classification, with a :class:`~ticketlab.losses.base.Loss` on the logits.
  :class:`~ticketlab.training.masked_lm.MaskedLMLoss` implements it for masked language modelling.

A :class:`~ticketlab.objectives.base.TrainingSession` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.losses.base import Loss
from ticketlab.training.batch import Batch

Precision = Literal["fp32", "bf16"]


@frozen
class LossOutput:
    """The output of one forward pass. ``loss`` is the scalar to minimise; ``losses`` and ``weights`` are (rows,).

    ``logits`` is (rows, classes), or (masked positions, vocabulary) for masked language modelling.
    """

    loss: Tensor
    losses: Tensor
    weights: Tensor
    logits: Tensor


class LossFunction(Protocol):
    """What an adversary calls: the loss of a batch under a perturbation of its word embeddings."""

    embedding_dim: int

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass with ``delta`` (rows, length, embedding_dim) added to the word embeddings.

        ``weights`` (rows,) multiply the weights that the loss assigns to the examples.
        """


class TrainingLoss(LossFunction, Protocol):
    """What the training loop holds: a loss function and ``model``, the transformers model that it trains."""

    model: Any

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Start optimizer step ``step`` of ``steps``. Return the batch for all its passes, on the device of ``batch``."""


class ClassificationLoss:
    """The loss of a classifier on labelled examples.

    The perturbation is added to the word embeddings; the model adds positions and types afterwards. ``label_sets`` lists the classes that
    labels beyond the model's own stand for: label ``classes + k`` means any of ``label_sets[k]``.
    """

    def __init__(
        self,
        model: Any,
        loss: Loss,
        *,
        precision: Precision = "fp32",
        callbacks: Sequence[Callback] = (),
        label_sets: Sequence[Sequence[int]] = (),
    ) -> None:
        self.model = model
        self.loss = loss
        self.precision = precision
        self.callbacks = tuple(callbacks)
        self.word_embeddings = model.get_input_embeddings()
        self.embedding_dim = int(self.word_embeddings.embedding_dim)
        self._pass = 0
        self._progress = 0.0
        self._members = _members(int(model.config.num_labels), label_sets) if label_sets else None

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Count passes from 0 again. The batch is returned unchanged."""
        self._pass = 0
        self._progress = step / steps
        return batch

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass. See :class:`LossFunction`."""
        for callback in self.callbacks:
            callback.on_pass_start(self._pass)
        self._pass += 1
        logits = forward(self.model, batch, self.precision, self.word_embeddings, delta)
        loss_inputs: dict[str, Any] = dict(batch.loss_inputs)
        if "progress" in self.loss.required_inputs:
            loss_inputs["progress"] = self._progress
        losses, own_weights = self.loss.per_example(logits, self._labels(batch), **loss_inputs)
        all_weights = own_weights if weights is None else own_weights * weights
        return LossOutput(self.loss.reduce(losses, all_weights), losses, all_weights, logits)

    def _labels(self, batch: Batch) -> Tensor:
        """Return the labels (rows,), or boolean sets (rows, classes) if the data has label sets."""
        return batch.labels if self._members is None else self._members.to(batch.labels.device)[batch.labels]


def _members(classes: int, label_sets: Sequence[Sequence[int]]) -> Tensor:
    """Return the classes that each label stands for, as booleans (labels, classes)."""
    members = torch.zeros(classes + len(label_sets), classes, dtype=torch.bool)
    members[:classes].fill_diagonal_(True)
    for index, allowed in enumerate(label_sets):
        members[classes + index, list(allowed)] = True
    return members


def forward(model: Any, batch: Batch, precision: Precision, word_embeddings: Any = None, delta: Tensor | None = None) -> Tensor:
    """Return the logits (rows, classes) in float32."""
    inputs: dict[str, Tensor] = {"attention_mask": batch.attention_mask}
    if batch.token_type_ids is not None:
        inputs["token_type_ids"] = batch.token_type_ids
    if delta is None:
        inputs["input_ids"] = batch.input_ids
    else:
        inputs["inputs_embeds"] = word_embeddings(batch.input_ids) + delta
    with torch.autocast(batch.input_ids.device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
        logits: Tensor = model(**inputs).logits
    return logits.float()
