"""PGD: train on the strongest of K perturbations (Madry et al., 2018), here on the word embeddings of text."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.adversaries.base import Adversary, DropoutMasks, ascend, project, uniform_in_ball
from ticketlab.core.settings import setting
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossFunction


@frozen
class PGD(Adversary):
    """K passes per optimizer step: the first K - 1 only move the perturbation, and the last one trains on it."""

    name: ClassVar[str] = "pgd"
    summary: ClassVar[str] = "train on the last of K perturbations of the word embeddings"
    paper: ClassVar[str] = "Madry et al., 2018, https://arxiv.org/abs/1706.06083"

    steps: int = setting(3, at_least=1, help="passes per optimizer step (K); the last one trains")
    step_size: float = setting(0.03, above=0, help="length of one ascent step (eta), Frobenius norm per example")
    init_magnitude: float = setting(0.05, at_least=0, help="size of the first random perturbation (epsilon_0)")
    max_norm: float | None = setting(None, above=0, help="bound on the perturbation (epsilon); the papers set none")
    clean_pass: bool = setting(False, help="include one pass on the clean embeddings in the average, in addition to the perturbed one")
    share_dropout: bool = setting(False, help="use the same dropout masks in all passes of a step")

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Accumulate the gradients of the loss at the last perturbation. Return that loss, averaged with the clean one if configured."""
        share = 1 / (1 + self.clean_pass)
        # Drawn before the masks: renewing them would rewind the generators, and every step would begin with the same perturbation.
        delta = project(uniform_in_ball(batch.attention_mask, loss_function.embedding_dim, self.init_magnitude), self.max_norm)
        dropout = DropoutMasks(shared=self.share_dropout)
        for _ in range(self.steps - 1):
            delta.requires_grad_()
            dropout.renew()
            (gradient,) = torch.autograd.grad(loss_function(batch, delta).loss, delta)
            delta = ascend(delta, gradient, batch.attention_mask, self.step_size, self.max_norm)
        dropout.renew()
        loss = loss_function(batch, delta).loss * share
        torch.autograd.backward(loss)
        total = loss.detach()
        if self.clean_pass:
            dropout.renew()
            clean = loss_function(batch).loss * share
            torch.autograd.backward(clean)
            total = total + clean.detach()
        return total
