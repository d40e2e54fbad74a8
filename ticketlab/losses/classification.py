"""The loss function of a classifier: a forward pass on labelled examples, and a loss on its logits."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.component import Precision
from ticketlab.core.errors import UsageError
from ticketlab.losses.base import Loss, LossRun
from ticketlab.training import batch_part
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import HiddenStates, LossOutput, Passes, forward_outputs, weighted
from ticketlab.training.needed_tokens import NeededTokens


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
        self._passes = Passes(self.callbacks)
        self._whole: Batch | None = None
        self._progress = 0.0
        self._members = _members(int(model.config.num_labels), label_sets) if label_sets else None

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Count passes from 0 again. The batch is returned unchanged."""
        self._passes.restart()
        self._whole = batch
        self._progress = step / steps
        self._taught = None
        return batch

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass. See :class:`~ticketlab.training.loss_function.LossFunction`."""
        self._passes.start()
        kept = "hidden_states" in self.outputs
        with contextlib.nullcontext() if kept else self._needed_tokens.only():
            logits, states = forward_outputs(self.model, batch, self.precision, self.word_embeddings, delta, hidden_states=kept)
        inputs = {**batch.loss_inputs, "hidden_states": states, "attention_mask": batch.attention_mask, "progress": self._progress}
        if self.teacher is not None:
            inputs["teacher_hidden_states"] = self._teacher_states(batch)
        losses, own_weights = self.loss(logits, self._labels(batch), inputs)
        all_weights = weighted(own_weights, weights)
        loss = self.loss.reduce(losses, all_weights)
        if batch_part.current() is not None:
            loss = self._balanced(loss, own_weights, weights)
        return LossOutput(loss, losses, all_weights, logits, states)

    def with_model(self, model: Any) -> ClassificationLoss:
        """Return the loss of another model at the same step. See :class:`~ticketlab.training.loss_function.LossFunction`."""
        other = copy.copy(self)
        other.model, other.callbacks, other._passes = model, (), Passes(())
        other.word_embeddings = model.get_input_embeddings()
        vars(other).pop("_needed_tokens", None)
        return other

    @functools.cached_property
    def _needed_tokens(self) -> NeededTokens:
        return NeededTokens(self.model)

    def _balanced(self, loss: Tensor, own_weights: Tensor, weights: Tensor | None) -> Tensor:
        """Return the loss of a part of the batch, divided by the sum of the weights of all its rows if it divides by a sum of weights.

        :raises UsageError: that sum cannot be known before all parts have been computed.
        """
        settings = self.loss.settings
        name = f"the loss `{settings.name}`"
        if type(self.loss).reduce is not LossRun.reduce or type(settings).reduce is not Loss.reduce:
            raise UsageError(f"{name} reduces the losses of a batch in its own way: train in one process with accumulate = 1")
        if settings.reduction == "batch":
            return loss
        assert self._whole is not None, "`prepare` gets the whole batch"
        with torch.no_grad():
            inputs = {key: values.to(loss.device) for key, values in self._whole.loss_inputs.items()}
            of_batch = self.loss.batch_weights(self._labels(self._whole).to(loss.device), **inputs)
        batch_part.check_weights(name, own_weights, of_batch)
        if weights is not None:
            batch_part.check_weights("the adversary", weights, None)
        return loss if of_batch is None else batch_part.balanced(loss, own_weights, of_batch)

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
