"""Scoring from training batches: gradients and outputs of the training loss with dropout off, while nothing is trained."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.inference import random_state
from ticketlab.inference.evaluation_mode import evaluation_mode
from ticketlab.inference.random_state import derive_seed
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.loss_function import LossOutput, TrainingLoss
from ticketlab.training.split_step import LossStep, SplitStep


@frozen
class Scoring:
    """The rows of a training and its loss under its adversary. ``runs`` are the callbacks of both, whose state is left as it was."""

    loss_function: TrainingLoss
    adversary: LossStep
    runs: Sequence[Callback]
    rows: TokenizedRows
    batch_size: int
    start_step: int = 0
    """The first step in which the adversary perturbs."""
    accumulate: int = 1
    """The number of micro-batches that a batch is divided into for gradients."""

    def batches(self, count: int, batch_size: int | None, seed: int) -> Iterator[Batch]:
        """Yield ``count`` batches on the device of the model, in a random order that depends on the seed. See :class:`TrainingPlan`."""
        device = next(self.loss_function.model.parameters()).device
        size = batch_size or self.batch_size
        every = (indices for epoch in itertools.count() for indices in self.rows.epoch(size, seed, epoch))
        for step, indices in enumerate(itertools.islice(every, count)):
            yield self.loss_function.prepare(self.rows.collate(indices), step, count).to(device)

    def gradients(self, tensors: Mapping[str, Tensor], count: int, batch_size: int | None, seed: int) -> Iterator[dict[str, Tensor]]:
        """Yield the gradients of each of ``count`` batches. See :meth:`TrainingPlan.gradients`."""
        model, others = self.loss_function.model, self._parameters()
        states = [{name: value.clone() for name, value in run.state_dict().items()} for run in self.runs]
        try:
            for index, batch in enumerate(self.batches(count, batch_size, seed)):
                with evaluation_mode(model), _only_requiring(tensors, others), random_state.isolated(derive_seed(seed, index)):
                    self._step(batch, self.start_step + index, tensors, derive_seed(seed, index))
                    found = {name: torch.zeros_like(tensor) if tensor.grad is None else tensor.grad for name, tensor in tensors.items()}
                yield found
        finally:
            for run, state in zip(self.runs, states, strict=True):
                run.load_state_dict(state)

    def _step(self, batch: Batch, step: int, tensors: Mapping[str, Tensor], seed: int) -> None:
        if self.accumulate == 1:
            self.adversary.step(self.loss_function, batch, step)
            return
        leaves = list(tensors.values())
        SplitStep(None, self.accumulate, seed, self.runs).gradients(self.adversary, self.loss_function, batch, step, lambda: leaves)

    def outputs(self, count: int, batch_size: int | None, seed: int) -> Iterator[tuple[Batch, LossOutput]]:
        """Yield each of ``count`` batches and the output of a clean pass. See :meth:`TrainingPlan.outputs`."""
        for index, batch in enumerate(self.batches(count, batch_size, seed)):
            with evaluation_mode(self.loss_function.model), torch.no_grad(), random_state.isolated(derive_seed(seed, index)):
                output = self.loss_function(batch)
            yield batch, output

    def _parameters(self) -> list[Tensor]:
        """Return every parameter that a backward pass may reach."""
        groups = [group for run in self.runs for group in run.parameter_groups()]
        return [*self.loss_function.model.parameters(), *(tensor for group in groups for tensor in group["params"])]


@contextlib.contextmanager
def _only_requiring(tensors: Mapping[str, Tensor], others: Sequence[Tensor]) -> Iterator[None]:
    """Compute gradients of ``tensors`` alone during the block, into fresh ``grad``; then restore ``requires_grad`` and ``grad`` of all."""
    every = list({id(tensor): tensor for tensor in (*tensors.values(), *others)}.values())
    before = [(tensor.requires_grad, tensor.grad) for tensor in every]
    wanted = {id(tensor) for tensor in tensors.values()}
    for tensor in every:
        tensor.grad = None
        tensor.requires_grad_(id(tensor) in wanted)
    try:
        yield
    finally:
        for tensor, (required, gradient) in zip(every, before, strict=True):
            tensor.requires_grad_(required)
            tensor.grad = gradient
