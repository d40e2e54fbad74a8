"""The loss function of a classifier: a forward pass on labelled examples, and a loss on its logits."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.component import Precision
from ticketlab.losses.base import LossRun
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import HiddenStates, LossOutput, forward_outputs, weighted


class ClassificationLoss:
    """The loss of a classifier on labelled examples.

    The perturbation is added to the word embeddings; the model adds positions and types afterwards. ``label_sets`` lists the classes that
    labels beyond the model's own stand for: label ``classes + k`` means any of ``label_sets[k]``. ``outputs`` are kept of each pass.
    ``teacher`` is a model whose hidden states the loss requires; it runs once for each batch, without dropout.
    """

    def __init__(
        self,
        model: Any,
        loss: LossRun,
        *,
        precision: Precision = "fp32",
        callbacks: Sequence[Callback] = (),
        label_sets: Sequence[Sequence[int]] = (),
        outputs: Collection[str] = (),
        teacher: Any = None,
    ) -> None:
        self.model = model
        self.loss = loss
        self.precision = precision
        self.callbacks = tuple(callbacks)
        self.outputs = outputs
        self.word_embeddings = model.get_input_embeddings()
        self.embedding_dim = int(self.word_embeddings.embedding_dim)
        self.teacher = teacher
        self._taught: tuple[Batch, HiddenStates] | None = None
        self._pass = 0
        self._progress = 0.0
        self._members = _members(int(model.config.num_labels), label_sets) if label_sets else None

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Count passes from 0 again. The batch is returned unchanged."""
        self._pass = 0
        self._progress = step / steps
        self._taught = None
        return batch

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass. See :class:`~ticketlab.training.loss_function.LossFunction`."""
        for callback in self.callbacks:
            callback.on_pass_start(self._pass)
        self._pass += 1
        kept = "hidden_states" in self.outputs
        logits, states = forward_outputs(self.model, batch, self.precision, self.word_embeddings, delta, hidden_states=kept)
        inputs = {**batch.loss_inputs, "hidden_states": states, "attention_mask": batch.attention_mask, "progress": self._progress}
        if self.teacher is not None:
            inputs["teacher_hidden_states"] = self._teacher_states(batch)
        losses, own_weights = self.loss(logits, self._labels(batch), inputs)
        all_weights = weighted(own_weights, weights)
        return LossOutput(self.loss.reduce(losses, all_weights), losses, all_weights, logits, states)

    def with_model(self, model: Any) -> ClassificationLoss:
        """Return the loss of another model at the same step. See :class:`~ticketlab.training.loss_function.LossFunction`."""
        other = copy.copy(self)
        other.model, other.callbacks = model, ()
        other.word_embeddings = model.get_input_embeddings()
        return other

    def _teacher_states(self, batch: Batch) -> HiddenStates:
        if self._taught is None or self._taught[0] is not batch:
            with torch.no_grad():
                self._taught = batch, forward_outputs(self.teacher, batch, self.precision, hidden_states=True)[1]
        return self._taught[1]

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
