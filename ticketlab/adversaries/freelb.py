"""FreeLB: adversarial training that averages the loss over K perturbations (Zhu et al., 2020, Algorithm 1)."""

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
class FreeLB(Adversary):
    """K forward-backward passes per optimizer step; each pass but the last moves the perturbation along its gradient.

    The parameter gradients of all passes accumulate, so one step costs as much as K plain steps.
    With ``steps=1`` and ``init_magnitude=0`` it is plain training.
    """

    name: ClassVar[str] = "freelb"
    summary: ClassVar[str] = "average the loss over K perturbations of the word embeddings"
    paper: ClassVar[str] = "Zhu et al., 2020, https://arxiv.org/abs/1909.11764"

    steps: int = setting(3, at_least=1, help="forward-backward passes per optimizer step (K)")
    step_size: float = setting(0.03, above=0, help="length of one ascent step (eta), Frobenius norm per example")
    init_magnitude: float = setting(0.05, at_least=0, help="size of the first random perturbation (epsilon_0)")
    max_norm: float | None = setting(None, above=0, help="bound on the perturbation (epsilon); the papers set none")
    clean_pass: bool = setting(False, help="include one pass on the clean embeddings in the average, in addition to the K perturbed ones")
    share_dropout: bool = setting(
        False, help="use the same dropout masks in all passes of a step, as in the original; the ticket papers do not"
    )

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Accumulate the gradients of the averaged loss.

        Returns the loss averaged over the passes: a scalar, detached.
        """
        passes = self.steps + self.clean_pass
        # Drawn before the masks: renewing them would rewind the generators, and every step would begin with the same perturbation.
        delta = project(uniform_in_ball(batch.attention_mask, loss_function.embedding_dim, self.init_magnitude), self.max_norm)
        dropout = DropoutMasks(shared=self.share_dropout)
        total = torch.zeros((), device=delta.device)
        if self.clean_pass:
            dropout.renew()
            loss = loss_function(batch).loss / passes
            torch.autograd.backward(loss)
            total += loss.detach()
        for k in range(self.steps):
            delta.requires_grad_(k < self.steps - 1)  # the last perturbation is never moved
            dropout.renew()
            loss = loss_function(batch, delta).loss / passes
            torch.autograd.backward(loss)
            total += loss.detach()
            if delta.grad is not None:
                delta = ascend(delta, delta.grad, batch.attention_mask, self.step_size, self.max_norm)
        return total
