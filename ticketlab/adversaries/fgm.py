"""FGM, the fast gradient method: a perturbation of one gradient step from the clean embeddings (Miyato et al., 2017)."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.adversaries.base import Adversary, DropoutMasks, ascend
from ticketlab.core.settings import setting
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossFunction


@frozen
class FGM(Adversary):
    """Two passes per optimizer step: a clean one, whose gradient gives the perturbation, and a perturbed one.

    Minimises (clean loss + weight x perturbed loss) / (1 + weight).
    """

    name: ClassVar[str] = "fgm"
    summary: ClassVar[str] = "train on the clean word embeddings and on a one-step perturbation of them"
    paper: ClassVar[str] = "Miyato et al., 2017, https://arxiv.org/abs/1605.07725"

    step_size: float = setting(0.05, above=0, help="length of the perturbation (epsilon), Frobenius norm per example")
    weight: float = setting(1.0, above=0, help="weight of the perturbed loss relative to the clean one")
    share_dropout: bool = setting(False, help="use the same dropout masks in both passes")

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Accumulate the gradients of both losses; return their weighted mean."""
        dropout = DropoutMasks(shared=self.share_dropout)
        delta = torch.zeros(*batch.input_ids.shape, loss_function.embedding_dim, device=batch.input_ids.device, requires_grad=True)
        dropout.renew()
        clean = loss_function(batch, delta).loss / (1 + self.weight)
        torch.autograd.backward(clean)
        assert delta.grad is not None
        moved = ascend(delta, delta.grad, batch.attention_mask, self.step_size, None)
        dropout.renew()
        perturbed = loss_function(batch, moved).loss * self.weight / (1 + self.weight)
        torch.autograd.backward(perturbed)
        return (clean + perturbed).detach()
