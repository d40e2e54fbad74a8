"""Knowledge distillation: learn the probabilities of a teacher along with the labels (Hinton et al., 2015)."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.settings import ratio, setting
from ticketlab.losses.base import Loss, log_likelihood


@frozen
class Distillation(Loss):
    """alpha T^2 KL(p_T || q_T) + (1 - alpha) cross-entropy of the label.

    p_T and q_T are the probabilities of teacher and student at temperature T, softmax(logits / T). The KL divergence has the gradient of
    the paper's cross-entropy with soft targets, and is 0 where the two agree. T^2 keeps the gradients of the two terms comparable (the
    paper's section 2). The teacher is any train stage or finished classifier with the labels of the task.
    """

    name: ClassVar[str] = "distillation"
    summary: ClassVar[str] = "learn the probabilities of a teacher along with the labels"
    paper: ClassVar[str] = "Hinton et al., 2015, https://arxiv.org/abs/1503.02531"
    required_inputs: ClassVar[tuple[str, ...]] = ("teacher",)

    temperature: float = setting(2.0, above=0, help="softens the probabilities of teacher and student (T)")
    alpha: float = ratio(0.5, help="weight of the teacher; the rest is that of the labels (alpha)")

    def per_example(self, logits: Tensor, labels: Tensor, *, teacher_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and ones. See :meth:`Loss.per_example`."""
        floor = torch.finfo(teacher_probs.dtype).tiny
        teacher = (teacher_probs.clamp(min=floor).log() / self.temperature).log_softmax(dim=1)
        student = (logits / self.temperature).log_softmax(dim=1)
        divergence = (teacher.exp() * (teacher - student)).sum(dim=1)
        losses = self.alpha * self.temperature**2 * divergence - (1 - self.alpha) * log_likelihood(logits.log_softmax(dim=1), labels)
        return losses, torch.ones_like(losses)
