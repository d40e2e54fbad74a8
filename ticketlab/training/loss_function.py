"""Loss functions: one forward pass of a model, as a function of a batch and a perturbation of its word embeddings.

- :class:`LossFunction` is what an adversary calls.
- :class:`TrainingLoss` is what the training loop holds: a loss function with its model and a hook at the start of each step.
- ``ticketlab.losses.classification.ClassificationLoss`` implements it for classification, with a loss on the logits.
  :class:`~ticketlab.training.masked_lm.MaskedLMLoss` implements it for masked language modelling.

A session of an objective makes them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from attrs import field, frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.component import Precision
from ticketlab.core.errors import PluginError
from ticketlab.training import batch_part
from ticketlab.training.batch import Batch
from ticketlab.training.batch_part import BatchPart
from ticketlab.training.dropout import few_random_numbers
from ticketlab.training.perturbation import perturbed

HiddenStates = tuple[Tensor, ...]


@frozen
class LossOutput:
    """The output of one forward pass."""

    loss: Tensor
    """The scalar to minimise."""
    losses: Tensor
    """The loss of each row, (rows,)."""
    weights: Tensor
    """The weight of each row, (rows,)."""
    logits: Tensor
    """The logits, (rows, classes), or (masked positions, vocabulary) for masked language modelling."""
    _hidden_states: HiddenStates = field(default=(), alias="hidden_states")

    @property
    def hidden_states(self) -> HiddenStates:
        """The outputs of the embeddings and of each layer: layers + 1 tensors (rows, length, width).

        :raises PluginError: no component of the training requires them.
        """
        if not self._hidden_states:
            raise PluginError('hidden_states is not kept: the component that reads it declares `required_outputs = ("hidden_states",)`')
        return self._hidden_states


class LossFunction(Protocol):
    """What an adversary calls: the loss of a batch under a perturbation of its word embeddings."""

    embedding_dim: int
    """The width of the word embeddings, the last dimension of ``delta``."""

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass with ``delta`` (rows, length, embedding_dim) added to the word embeddings.

        ``weights`` (rows,) multiply the weights that the loss assigns to the examples.
        """

    def with_model(self, model: Any) -> LossFunction:
        """Return the same function of another model, such as a copy of the trained one. Its passes call no callbacks."""


class TrainingLoss(LossFunction, Protocol):
    """What the training loop holds: a loss function with the model that it trains."""

    model: Any
    """The transformers model."""

    def prepare(self, batch: Batch, step: int, steps: int) -> Batch:
        """Start optimizer step ``step`` of ``steps``. Return the batch for all its passes, on the device of ``batch``."""


class Passes:
    """Calls ``on_pass_start`` of callbacks before each pass, counted from 0 in each step, and in each part of a batch."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks = callbacks
        self.restart()

    def restart(self) -> None:
        """Start a step: count from 0 again."""
        self._number = 0
        self._part: BatchPart | None = None

    def start(self) -> None:
        """Start a pass."""
        part = batch_part.current()
        if part is not self._part:
            self._part, self._number = part, 0
        for callback in self._callbacks:
            callback.on_pass_start(self._number)
        self._number += 1


def forward(model: Any, batch: Batch, precision: Precision, word_embeddings: Any = None, delta: Tensor | None = None) -> Tensor:
    """Return the logits (rows, classes) in float32."""
    return forward_outputs(model, batch, precision, word_embeddings, delta)[0]


def forward_outputs(
    model: Any,
    batch: Batch,
    precision: Precision,
    word_embeddings: Any = None,
    delta: Tensor | None = None,
    *,
    hidden_states: bool = False,
) -> tuple[Tensor, HiddenStates]:
    """Return the logits (rows, classes) and, if asked for, the hidden states (layers + 1 tensors), in float32."""
    inputs: dict[str, Any] = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    if batch.token_type_ids is not None:
        inputs["token_type_ids"] = batch.token_type_ids
    if hidden_states:
        inputs["output_hidden_states"] = True
    autocast = torch.autocast(batch.input_ids.device.type, dtype=torch.bfloat16, enabled=precision == "bf16")
    shifted = contextlib.nullcontext() if delta is None else perturbed(word_embeddings, delta)
    with autocast, few_random_numbers(batch.input_ids.device), shifted:
        output = model(**inputs)
    logits: Tensor = output.logits.float()
    return logits, tuple(state.float() for state in output.hidden_states) if hidden_states else ()


def weighted(own: Tensor, weights: Tensor | None) -> Tensor:
    """Return the weights of the examples, (rows,): those of the loss, times those that the caller of a loss function gives.

    :raises PluginError: the latter have another shape.
    """
    if weights is None:
        return own
    if weights.shape != own.shape:
        raise PluginError(f"the weights of a pass are {tuple(weights.shape)}, and there is one of each example: {tuple(own.shape)}")
    return own * weights
