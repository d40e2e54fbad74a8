"""Supervised contrastive learning beside another objective: a regulariser that needs labels (Gunel et al., 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from attrs import evolve, frozen
from torch import Tensor, nn

from ticketlab.plugin import (
    Batch,
    Callback,
    LossOutput,
    Objective,
    TrainingContext,
    TrainingLoss,
    TrainingParts,
    TrainingPlan,
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
    whole_batch: ClassVar[bool] = True  # the other examples of the batch are positives and negatives

    inner: Objective = component("objective", "task", help="the objective beside it")
    weight: float = setting(0.5, at_least=0, at_most=1, help="weight of the contrast (lambda)")
    projection: int = setting(0, at_least=0, help="width of a projection of the vectors that is trained with the model; 0: none")
    temperature: float = setting(0.3, above=0, help="divides the cosine similarities (tau)")

    def start_session(self, context: TrainingContext) -> TrainingSession:
        """Wrap the session of the inner objective."""
        return ContrastSession(self, self.inner.start_session(context))


class ContrastSession(WrappedSession):
    """The inner session with another loss function."""

    def __init__(self, settings: SupervisedContrast, inner: TrainingSession) -> None:
        super().__init__(inner)
        self.settings = settings
        self.projection: Projection | None = None

    def begin(self, plan: TrainingPlan) -> Sequence[Callback]:
        """Begin the projection, after the callbacks of the inner session."""
        others = super().begin(plan)
        if not self.settings.projection:
            return others
        self.projection = Projection(self.settings.projection, plan)
        return [*others, self.projection]

    def loss_function(self, parts: TrainingParts) -> TrainingLoss:
        """Add the contrast to the loss of each pass."""
        return ContrastLoss(self.settings, super().loss_function(parts), self.projection)


class Projection(Callback):
    """A linear projection of the vectors that are compared, which is trained and not kept."""

    def __init__(self, width: int, plan: TrainingPlan) -> None:
        source = plan.model.get_input_embeddings().weight
        drawn = torch.randn(width, plan.model.config.hidden_size, generator=torch.Generator().manual_seed(plan.seed))
        self.weight = nn.Parameter((drawn / width**0.5).to(source.device))

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the projection, with a learning rate of its own."""
        return [{"params": [self.weight], "lr": 1e-3, "weight_decay": 0.0}]

    def metrics(self) -> dict[str, float]:
        """Return the norm of the projection."""
        return {"projection_norm": float(self.weight.detach().norm())}


class ContrastLoss(WrappedLossFunction):
    """Adds the contrast to each pass."""

    def __init__(self, settings: SupervisedContrast, inner: TrainingLoss, projection: Projection | None = None) -> None:
        super().__init__(inner)
        self.settings = settings
        self.projection = projection

    def extend(self, output: LossOutput, batch: Batch) -> LossOutput:
        """Return the output with the sum of both losses."""
        vectors = output.hidden_states[-1][:, 0]
        vectors = vectors if self.projection is None else vectors @ self.projection.weight.T
        added = contrast(vectors, batch.labels, self.settings.temperature)
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
