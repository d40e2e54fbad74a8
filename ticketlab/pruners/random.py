"""Random: the score of a weight is a random number; a floor for every comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.pruners.base import Plan, Pruner, Search, weight_units


@frozen
class Random(Pruner):
    """A search of no steps. ``draw`` with ``like`` set gives it the layer-wise sparsity of another ticket."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "score weights at random, without training"
    searches: ClassVar[bool] = False

    def attach(self, backbone: Backbone, plan: Plan) -> Search:
        """Start (and end) the search."""
        return _Dice(backbone, plan.seed)


class _Dice(Search):
    def __init__(self, backbone: Backbone, seed: int) -> None:
        self._backbone = backbone
        self._seed = seed

    def scores(self) -> Mapping[str, Tensor]:
        generator = torch.Generator().manual_seed(self._seed)
        return {name: torch.rand(shape, generator=generator) for name, shape in weight_units(self._backbone).items()}
