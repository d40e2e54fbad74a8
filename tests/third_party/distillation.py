"""Layer distillation beside another loss: hidden states of the student, projected, follow those of a teacher (Jiao et al., 2020)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.plugin import Callback, Loss, LossRun, TrainingPlan, component, hookimpl, setting


@frozen
class LayerDistillation(Loss):
    """Adds ``weight`` x the mean squared difference of the hidden states of all layers, after a trained projection of the student's."""

    name: ClassVar[str] = "layer-distillation"
    summary: ClassVar[str] = "another loss, and hidden states close to those of a teacher"
    paper: ClassVar[str] = "Jiao et al., 2020, https://aclanthology.org/2020.findings-emnlp.372"
    required_inputs: ClassVar[tuple[str, ...]] = ("teacher_hidden_states", "attention_mask")
    required_outputs: ClassVar[tuple[str, ...]] = ("hidden_states",)

    inner: Loss = component("loss", "cross-entropy", help="the loss beside it")
    weight: float = setting(1.0, at_least=0, help="weight of the differences")
    lr: float = setting(1e-3, above=0, help="learning rate of the projection")

    def begin(self, plan: TrainingPlan) -> LossRun:
        """Make the projection, initially the identity."""
        weight = plan.model.get_input_embeddings().weight
        width = int(plan.model.config.hidden_size)
        return DistillationRun(self, self.inner.begin(plan), torch.eye(width, dtype=weight.dtype, device=weight.device))


class DistillationRun(LossRun):
    """Trains the projection with the model."""

    def __init__(self, settings: LayerDistillation, inner: LossRun, projection: Tensor) -> None:
        super().__init__(settings)
        self._distillation = settings
        self._inner = inner
        self.projection = nn.Parameter(projection)

    def nested(self) -> list[Callback]:
        """Return the run of the inner loss."""
        return [self._inner]

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the projection."""
        return [{"params": [self.projection], "lr": self._distillation.lr, "weight_decay": 0.0}]

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Add the differences to the inner loss."""
        losses, weights = self._inner(logits, labels, loss_inputs)
        pairs = zip(loss_inputs["hidden_states"], loss_inputs["teacher_hidden_states"], strict=True)
        differences = [difference(own @ self.projection, taught, loss_inputs["attention_mask"]) for own, taught in pairs]
        return losses + self._distillation.weight * torch.stack(differences).sum(dim=0), weights

    def metrics(self) -> dict[str, float]:
        """Return how far the projection is from the identity."""
        return {"projection": float((self.projection.detach() - torch.eye(len(self.projection), device=self.projection.device)).norm())}


def difference(student: Tensor, teacher: Tensor, mask: Tensor) -> Tensor:
    """Return the mean squared difference of each example over its tokens, (rows,), from two (rows, length, width)."""
    by_token = (student - teacher).square().mean(dim=2) * mask
    return by_token.sum(dim=1) / mask.sum(dim=1).clamp(min=1)


@hookimpl
def ticketlab_losses() -> list[type[Loss]]:
    """Return the loss."""
    return [LayerDistillation]
