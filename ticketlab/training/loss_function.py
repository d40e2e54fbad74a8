"""Objectives: what a training minimises, as a function of a batch and a perturbation of its word embeddings."""

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
    """One forward pass. ``loss`` is the scalar to minimise; ``losses`` and ``weights`` are (rows,).

    ``logits`` is (rows, classes), of masked language modelling (masked positions, vocabulary).
    """

    loss: Tensor
    losses: Tensor
    weights: Tensor
    logits: Tensor


class LossFunction(Protocol):
    """What an adversary sees of the training."""

    embedding_dim: int

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass with ``delta`` (rows, length, embedding_dim) added to the word embeddings.

        ``weights`` (rows,) multiply the weights that the loss gives to the examples.
        """


class TrainingLoss(LossFunction, Protocol):
    """An objective as the training loop sees it: with ``model``, the transformers model that is trained."""

    model: Any

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Return the batch that all passes of optimizer step ``step`` of ``steps`` see, on the device that ``batch`` is on."""


class ClassificationLoss:
    """A classification loss of a model.

    The perturbation is added to the word embeddings only; the model adds positions and types afterwards. ``label_sets`` are the classes
    that labels beyond the model's own stand for: label ``classes + k`` is any of ``label_sets[k]``.
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
        """Start counting passes from 0; the batch stays as it is."""
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
        if "progress" in self.loss.needs:
            loss_inputs["progress"] = self._progress
        losses, own_weights = self.loss.per_example(logits, self._labels(batch), **loss_inputs)
        all_weights = own_weights if weights is None else own_weights * weights
        return LossOutput(self.loss.reduce(losses, all_weights), losses, all_weights, logits)

    def _labels(self, batch: Batch) -> Tensor:
        """Return the labels, as sets where there are any: (rows, classes) booleans."""
        return batch.labels if self._members is None else self._members.to(batch.labels.device)[batch.labels]


def _members(classes: int, label_sets: Sequence[Sequence[int]]) -> Tensor:
    """Return (labels, classes) booleans: which classes each label stands for."""
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
