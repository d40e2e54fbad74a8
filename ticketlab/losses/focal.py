"""Focal loss: down-weights examples that the model is already confident about. It needs no bias model."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.settings import setting
from ticketlab.losses.base import Loss, log_likelihood


@frozen
class Focal(Loss):
    """(1 - p) ^ gamma x cross-entropy, where p is the model's probability of the label (Lin et al., 2017, Eq. 4).

    With ``gamma=0`` it is plain cross-entropy.
    """

    name: ClassVar[str] = "focal"
    summary: ClassVar[str] = "cross-entropy that fades as the model becomes confident"
    paper: ClassVar[str] = "Lin et al., 2017, https://arxiv.org/abs/1708.02002"

    gamma: float = setting(2.0, at_least=0, help="how fast an example's weight falls as the probability of its label rises")

    def per_example(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and ones. See :meth:`Loss.per_example`."""
        likelihood = log_likelihood(logits.log_softmax(dim=1), labels)
        losses = -((1 - likelihood.exp()).clamp(min=torch.finfo(logits.dtype).eps) ** self.gamma) * likelihood
        return losses, torch.ones_like(losses)
