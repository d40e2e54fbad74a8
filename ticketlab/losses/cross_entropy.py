"""Cross-entropy: the negative log-probability of the label."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.losses.base import Loss, log_likelihood


@frozen
class CrossEntropy(Loss):
    """The standard loss of a classification task. All examples have the same weight."""

    name: ClassVar[str] = "cross-entropy"
    summary: ClassVar[str] = "the negative log-probability of the label"

    def per_example(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and ones. See :meth:`Loss.per_example`."""
        losses = -log_likelihood(logits.log_softmax(dim=1), labels)
        return losses, torch.ones_like(losses)
