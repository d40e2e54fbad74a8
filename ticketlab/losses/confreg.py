"""Confidence regularisation: distil a teacher whose probabilities are smoothed where the bias model is right."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.losses.base import Loss, log_likelihood


@frozen
class ConfidenceRegularisation(Loss):
    """Cross-entropy with the target S, proportional to p_t ^ (1 - beta).

    p_t are the teacher's probabilities and beta is the bias model's probability of the label. The label affects the loss only through
    beta (Liu et al., 2022, Eq. A.4, after Utama et al., 2020). The teacher is a train stage with plain cross-entropy.
    """

    name: ClassVar[str] = "confreg"
    summary: ClassVar[str] = "distil a teacher that is less confident where a bias model is right"
    paper: ClassVar[str] = "Utama et al., 2020, https://aclanthology.org/2020.acl-main.770"
    required_inputs: ClassVar[tuple[str, ...]] = ("bias", "teacher")

    def per_example(self, logits: Tensor, labels: Tensor, *, bias_log_probs: Tensor, teacher_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and ones. See :meth:`Loss.per_example`."""
        smooth = smoothed(teacher_probs, log_likelihood(bias_log_probs, labels).exp().clamp(max=1))
        losses = -(smooth * logits.log_softmax(dim=1)).sum(dim=1)
        return losses, torch.ones_like(losses)


def smoothed(teacher_probs: Tensor, bias_degree: Tensor) -> Tensor:
    """Return S, (rows, classes): the teacher's probabilities to the power 1 - beta, normalised. ``bias_degree`` is beta, (rows,)."""
    floor = torch.finfo(teacher_probs.dtype).tiny
    powers: Tensor = (1 - bias_degree).unsqueeze(1) * teacher_probs.clamp(min=floor).log()
    return powers.softmax(dim=1)
