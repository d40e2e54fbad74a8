"""Layer-adaptive magnitude (LAMP, Lee et al., 2021): a pruner in one file, loaded with ``--plugin``.

The score of a weight is its square divided by the sum of the squares of all weights of its matrix that are not smaller. Scores of different
matrices can then be ranked together: no matrix is removed entirely, because the largest weight of each has the score 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import Backbone, Pruner, Search, TrainingPlan, hookimpl, setting, weight_units


@frozen
class LayerMagnitude(Pruner):
    """Scores the weights that the search starts from, without any steps."""

    name: ClassVar[str] = "layer-magnitude"
    summary: ClassVar[str] = "score weights by their share of the remaining weights of their matrix"
    paper: ClassVar[str] = "Lee et al., 2021, https://arxiv.org/abs/2010.07611"
    searches: ClassVar[bool] = False

    power: float = setting(2.0, above=0, help="exponent of the magnitude; 2 in the paper")
    pooler: bool = setting(False, help="also score the matrix of the pooler")

    def begin(self, plan: TrainingPlan) -> Search:
        """Compute the scores."""
        return _LayerMagnitudeSearch(plan.backbone, self)


class _LayerMagnitudeSearch(Search):
    def __init__(self, backbone: Backbone, settings: LayerMagnitude) -> None:
        units = weight_units(backbone, pooler=settings.pooler)
        self._scores = {name: shares(backbone.weight(name).detach().cpu(), settings.power) for name in units}

    def scores(self) -> Mapping[str, Tensor]:
        return self._scores


def shares(weight: Tensor, power: float) -> Tensor:
    """Return the scores of a matrix. Of two equally large weights, the later one counts as larger."""
    sizes, order = weight.abs().double().pow(power).flatten().sort(stable=True)
    not_smaller = sizes.flip(0).cumsum(0).flip(0).clamp(min=torch.finfo(torch.float64).tiny)
    return torch.empty_like(sizes).scatter_(0, order, sizes / not_smaller).reshape(weight.shape).float()


@hookimpl
def ticketlab_pruners() -> list[type[Pruner]]:
    """Return the pruner."""
    return [LayerMagnitude]
