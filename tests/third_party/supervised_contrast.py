"""Supervised contrastive learning beside another objective: a regulariser that needs labels (Gunel et al., 2021)."""

from __future__ import annotations

from typing import ClassVar

import torch
from attrs import evolve, frozen
from torch import Tensor

from ticketlab.plugin import (
    Batch,
    LossOutput,
    Objective,
    TrainingContext,
    TrainingLoss,
    TrainingParts,
    TrainingSession,
    WrappedLossFunction,
    WrappedSession,
    component,
    hookimpl,
    setting,
)


@frozen
class SupervisedContrast(Objective):
    """Minimises (1 - weight) x loss + weight x contrast, where the first token's last hidden state represents an example."""

    name: ClassVar[str] = "supervised-contrast"
    summary: ClassVar[str] = "another objective, and examples of a label drawn together"
    paper: ClassVar[str] = "Gunel et al., 2021, https://arxiv.org/abs/2011.01403"
    required_outputs: ClassVar[tuple[str, ...]] = ("hidden_states",)

    inner: Objective = component("objective", "task", help="the objective beside it")
    weight: float = setting(0.5, at_least=0, at_most=1, help="weight of the contrast (lambda)")
    temperature: float = setting(0.3, above=0, help="divides the cosine similarities (tau)")

    def start_session(self, context: TrainingContext) -> TrainingSession:
        """Wrap the session of the inner objective."""
        return ContrastSession(self, self.inner.start_session(context))


class ContrastSession(WrappedSession):
    """The inner session with another loss function."""

    def __init__(self, settings: SupervisedContrast, inner: TrainingSession) -> None:
        super().__init__(inner)
        self.settings = settings

    def loss_function(self, parts: TrainingParts) -> TrainingLoss:
        """Add the contrast to the loss of each pass."""
        return ContrastLoss(self.settings, super().loss_function(parts))


class ContrastLoss(WrappedLossFunction):
    """Adds the contrast to each pass."""

    def __init__(self, settings: SupervisedContrast, inner: TrainingLoss) -> None:
        super().__init__(inner)
        self.settings = settings

    def extend(self, output: LossOutput, batch: Batch) -> LossOutput:
        """Return the output with the sum of both losses."""
        added = contrast(output.hidden_states[-1][:, 0], batch.labels, self.settings.temperature)
        return evolve(output, loss=(1 - self.settings.weight) * output.loss + self.settings.weight * added)


def contrast(vectors: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Return the mean over examples of -log p(same label), where p ranks the others by cosine similarity. Scalar.

    ``vectors`` is (rows, width), ``labels`` (rows,). An example that is alone with its label counts as 0.
    """
    unit = torch.nn.functional.normalize(vectors, dim=1)
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    log_probs = (unit @ unit.T / temperature).masked_fill(itself, -torch.inf).log_softmax(dim=1)
    same = (labels[:, None] == labels[None]) & ~itself
    return -(log_probs.masked_fill(~same, 0).sum(dim=1) / same.sum(dim=1).clamp(min=1)).mean()


@hookimpl
def ticketlab_objectives() -> list[type[Objective]]:
    """Return the objective."""
    return [SupervisedContrast]
