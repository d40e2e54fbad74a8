"""The base classes of adversaries, and the arithmetic of perturbations that they share."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.settings import setting
from ticketlab.inference import random_state
from ticketlab.training import batch_part
from ticketlab.training.batch import Batch
from ticketlab.training.batch_part import drawn_for_batch
from ticketlab.training.component import TrainingComponent
from ticketlab.training.loss_function import LossFunction
from ticketlab.training.plan import TrainingPlan


@frozen
class Adversary(TrainingComponent):
    """Settings of an adversary, which computes the gradients of one optimizer step. It is independent of pruner and loss.

    An adversary with state or parameters of its own returns an :class:`AdversaryRun` from :meth:`begin`; any other only computes
    :meth:`backward`.

    With several processes or micro-batches (``accumulate``), a step is taken for each part of a batch. Norms are those of each example, so
    this changes nothing if random numbers for the rows are drawn by :func:`ticketlab.plugin.drawn_for_batch`. An adversary that compares
    rows of a batch with each other declares ``whole_batch``.
    """

    kind: ClassVar[str] = "adversary"

    start_step: int = setting(
        0, at_least=0, unit="steps", help="train without perturbations before this step; a late start helps if the loss overflows"
    )

    @property
    def learns_at_rate(self) -> bool:
        """Whether the run has parameters that are trained at the stage's learning rate, because their group has none of its own."""
        return False

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Return the adversary of one training. By default it has no state."""
        return AdversaryRun(self)

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Run any number of forward-backward passes that accumulate the parameters' gradients.

        Return the loss that the gradients are of, a detached scalar. It is logged, and shows when a training diverges.
        """
        raise NotImplementedError


class AdversaryRun(Callback):
    """An adversary during one training: a callback of the training loop. A subclass with state overrides :meth:`backward`.

    Its state changes in a step of the training; :meth:`state_dict` returns every tensor that the next step depends on.
    """

    of_kind: ClassVar[str] = "adversary"
    settings: Adversary
    """The settings that the run was made with."""

    def __init__(self, settings: Adversary) -> None:
        self.settings = settings

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Accumulate the gradients of optimizer step ``step``, counted from 0; return the loss, a detached scalar.

        Before the adversary's ``start_step`` this is a plain step.
        """
        return plain_step(loss_function, batch) if step < self.settings.start_step else self.backward(loss_function, batch)

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Accumulate the gradients of the parameters. See :meth:`Adversary.backward`."""
        return self.settings.backward(loss_function, batch)


def plain_step(loss_function: LossFunction, batch: Batch) -> Tensor:
    """Accumulate the gradients of the loss on unperturbed embeddings. Return that loss, detached."""
    loss = loss_function(batch).loss
    torch.autograd.backward(loss)
    return loss.detach()


def uniform_in_ball(attention_mask: Tensor, dim: int, magnitude: float) -> Tensor:
    """Draw the initial perturbation: U(-1, 1) x magnitude / sqrt(length x dim), zero on padding (Zhu et al., 2020).

    ``attention_mask`` is (rows, length). The result is (rows, length, dim); its Frobenius norm per example is about magnitude / sqrt(3).
    """
    mask = attention_mask.unsqueeze(-1).float()
    rows, length = attention_mask.shape
    noise = drawn_for_batch(rows, lambda count: torch.empty(count, length, dim, device=mask.device).uniform_(-1, 1))
    lengths = attention_mask.sum(dim=1).clamp(min=1).float().view(-1, 1, 1)
    return noise * mask * magnitude / torch.sqrt(lengths * dim)


def norms(delta: Tensor) -> Tensor:
    """Return the Frobenius norm of each example's perturbation, (rows, 1, 1)."""
    sizes: Tensor = torch.linalg.vector_norm(delta.flatten(1), dim=1)
    return sizes.view(-1, 1, 1)


def ascend(delta: Tensor, gradient: Tensor, attention_mask: Tensor, step_size: float, max_norm: float | None) -> Tensor:
    """Move each example's perturbation by ``step_size`` along its gradient, then project it into the ball of radius ``max_norm``.

    All norms are Frobenius norms per example over length x dim. Padding is never perturbed.
    """
    gradient = gradient * attention_mask.unsqueeze(-1)
    return project(delta.detach() + step_size * gradient / norms(gradient).clamp(min=1e-8), max_norm)


def project(delta: Tensor, max_norm: float | None) -> Tensor:
    """Return each example's perturbation, shortened to the Frobenius norm ``max_norm`` if it is longer. None is no bound."""
    return delta if max_norm is None else delta * (max_norm / norms(delta).clamp(min=1e-8)).clamp(max=1)


class DropoutMasks:
    """Makes all passes of a step use the same dropout masks if ``shared``.

    Create it before the first pass, and after all other random numbers of the step have been drawn: :meth:`renew` rewinds the generators,
    and numbers drawn in between could be the same in every step.
    """

    def __init__(self, *, shared: bool) -> None:
        self._states = random_state.capture() if shared else None
        self._part = batch_part.current()
        self._shared_state = None if self._part is None else self._part.shared_random_state

    def renew(self) -> None:
        """Restore the random state from before the first pass. Call it before each pass."""
        if self._states is None:
            return
        random_state.restore(self._states)
        if self._part is not None and self._shared_state is not None:
            self._part.shared_random_state = self._shared_state
