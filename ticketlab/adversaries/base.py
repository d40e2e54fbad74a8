"""The contract of an adversary, and the arithmetic of perturbations that adversaries share."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.component import Component
from ticketlab.core.settings import setting
from ticketlab.inference import random_state
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossFunction


@frozen
class Adversary(Component):
    """Settings of a way to compute the gradients of one optimizer step. It knows neither pruner nor loss."""

    kind: ClassVar[str] = "adversary"

    start_step: int = setting(
        0, at_least=0, unit="steps", help="train plainly before this step; a late start helps where the loss overflows"
    )

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Accumulate the gradients of optimizer step ``step``; return the loss, a detached scalar."""
        return plain_step(loss_function, batch) if step < self.start_step else self.backward(loss_function, batch)

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Run any number of forward-backward passes, accumulating the parameters' gradients; return the loss, a detached scalar."""
        raise NotImplementedError


def plain_step(loss_function: LossFunction, batch: Batch) -> Tensor:
    """Accumulate the gradients of the clean loss; return it, detached."""
    loss = loss_function(batch).loss
    torch.autograd.backward(loss)
    return loss.detach()


def uniform_in_ball(attention_mask: Tensor, dim: int, magnitude: float) -> Tensor:
    """Draw the first perturbation: U(-1, 1) x magnitude / sqrt(length x dim), zero on padding (Zhu et al., 2020).

    ``attention_mask`` is (rows, length); the result is (rows, length, dim), of Frobenius norm about magnitude / sqrt(3) per example.
    """
    mask = attention_mask.unsqueeze(-1).float()
    noise = torch.empty(*attention_mask.shape, dim, device=mask.device).uniform_(-1, 1)
    lengths = attention_mask.sum(dim=1).clamp(min=1).float().view(-1, 1, 1)
    return noise * mask * magnitude / torch.sqrt(lengths * dim)


def norms(delta: Tensor) -> Tensor:
    """Return the Frobenius norm of each example's perturbation, (rows, 1, 1)."""
    sizes: Tensor = torch.linalg.vector_norm(delta.flatten(1), dim=1)
    return sizes.view(-1, 1, 1)


def ascend(delta: Tensor, gradient: Tensor, attention_mask: Tensor, step_size: float, max_norm: float | None) -> Tensor:
    """Move each example's perturbation by ``step_size`` along its gradient, then back into the ball of ``max_norm``.

    All norms are Frobenius norms per example over length x dim. Padding is never perturbed.
    """
    gradient = gradient * attention_mask.unsqueeze(-1)
    moved = delta.detach() + step_size * gradient / norms(gradient).clamp(min=1e-8)
    if max_norm is not None:
        moved = moved * (max_norm / norms(moved).clamp(min=1e-8)).clamp(max=1)
    return moved


class DropoutMasks:
    """Makes every pass of a step drop the same units, when ``shared``."""

    def __init__(self, *, shared: bool) -> None:
        self._states = random_state.capture() if shared else None

    def renew(self) -> None:
        """Call before each pass."""
        if self._states is not None:
            random_state.restore(self._states)
