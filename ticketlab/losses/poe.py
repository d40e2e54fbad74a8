"""Product of experts: the model learns what the bias model does not explain."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.settings import setting
from ticketlab.losses.base import Loss, log_likelihood


@frozen
class ProductOfExperts(Loss):
    """``-log softmax(log p + log p_b)[y]``, where ``p_b`` are the probabilities of the bias model (Liu et al., 2022, §3.3).

    Examples that the bias model already gets right contribute little gradient. With ``anneal`` below 1 the probabilities of the bias
    model are raised to a power that falls linearly from 1 to ``anneal``. The loss then ends closer to plain cross-entropy, and the
    in-distribution accuracy suffers less (Utama et al., 2020).
    """

    name: ClassVar[str] = "poe"
    summary: ClassVar[str] = "cross-entropy of the model's probabilities times those of a bias model"
    paper: ClassVar[str] = "Clark et al., 2019, https://aclanthology.org/D19-1418"
    required_inputs: ClassVar[tuple[str, ...]] = ("bias", "progress")

    anneal: float = setting(1.0, at_least=0, at_most=1, help="power of the bias model's probabilities at the end of training")

    def per_example(self, logits: Tensor, labels: Tensor, *, bias_log_probs: Tensor, progress: float) -> tuple[Tensor, Tensor]:
        """Return the losses and ones. See :meth:`Loss.per_example`."""
        power = 1 + (self.anneal - 1) * progress
        product = (logits.log_softmax(dim=1) + power * bias_log_probs).log_softmax(dim=1)
        losses = -log_likelihood(product, labels)
        return losses, torch.ones_like(losses)
