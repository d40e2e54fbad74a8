"""Head importance by gradients: the sensitivity of the loss to a gate on each attention head (Michel et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import Pruner, Search, TrainingPlan, hookimpl, setting


@frozen
class HeadImportance(Pruner):
    """The score of a head is the mean magnitude, over batches, of the derivative of the loss by its gate. Nothing is trained."""

    name: ClassVar[str] = "head-importance"
    summary: ClassVar[str] = "score heads by the gradient of the loss at a gate on each"
    paper: ClassVar[str] = "Michel et al., 2019, https://arxiv.org/abs/1905.10650"
    searches: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = False
    scores_batches: ClassVar[bool] = True

    batches: int = setting(10, at_least=1, unit="batches", help="number of batches")
    batch_size: int | None = setting(None, at_least=1, unit="examples", help="examples per batch, as the gradients of a batch are summed")

    def groups(self) -> tuple[str, ...]:
        """Return the only group: heads."""
        return ("heads",)

    def begin(self, plan: TrainingPlan) -> Search:
        """Compute the scores."""
        backbone = plan.backbone
        outputs = {f"heads/{index}": layer.attention_output.weight for index, layer in enumerate(backbone.layers)}
        scores = {name: torch.zeros(backbone.num_heads) for name in outputs}
        for gradients in plan.gradients(outputs, batches=self.batches, batch_size=self.batch_size):
            for name, gradient in gradients.items():
                scores[name] += gate_gradients(outputs[name].detach(), gradient, backbone.head_dim).abs().cpu() / self.batches
        return HeadSearch(scores)


class HeadSearch(Search):
    """A search whose scores are known at once."""

    def __init__(self, scores: Mapping[str, Tensor]) -> None:
        self._scores = scores

    def scores(self) -> Mapping[str, Tensor]:
        """Return the scores."""
        return self._scores


def gate_gradients(weight: Tensor, gradient: Tensor, head_dim: int) -> Tensor:
    """Return the derivative by a gate on each head, (heads,): the sum of weight x gradient over the columns that read it."""
    return (weight * gradient).sum(dim=0).view(-1, head_dim).sum(dim=1)


@hookimpl
def ticketlab_pruners() -> list[type[Pruner]]:
    """Return the pruner."""
    return [HeadImportance]
