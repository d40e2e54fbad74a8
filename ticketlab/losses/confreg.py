"""Confidence regularisation: a teacher's probabilities, smoothed where the bias model is right, are what is learnt."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.losses.base import Loss, Need, log_likelihood


@frozen
class ConfidenceRegularisation(Loss):
    """Cross-entropy to S, proportional to p_t ^ (1 - beta): p_t of a teacher, beta the bias model's probability of the label.

    The label itself counts through beta alone (Liu et al., 2022, Eq. A.4, after Utama et al., 2020). The teacher is a train stage with
    plain cross-entropy.
    """

    name: ClassVar[str] = "confreg"
    summary: ClassVar[str] = "distil a teacher that is less confident where a bias model is right"
    paper: ClassVar[str] = "Utama et al., 2020, https://aclanthology.org/2020.acl-main.770"
    needs: ClassVar[tuple[Need, ...]] = ("bias", "teacher")

    def per_example(self, logits: Tensor, labels: Tensor, *, bias_log_probs: Tensor, teacher_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and ones. See :meth:`Loss.per_example`."""
        smooth = smoothed(teacher_probs, log_likelihood(bias_log_probs, labels).exp().clamp(max=1))
        losses = -(smooth * logits.log_softmax(dim=1)).sum(dim=1)
        return losses, torch.ones_like(losses)


def smoothed(teacher_probs: Tensor, bias_degree: Tensor) -> Tensor:
    """Return S (rows, classes), proportional to the teacher's probabilities to the power 1 - beta; beta is (rows,)."""
    floor = torch.finfo(teacher_probs.dtype).tiny
    powers: Tensor = (1 - bias_degree).unsqueeze(1) * teacher_probs.clamp(min=floor).log()
    return powers.softmax(dim=1)
