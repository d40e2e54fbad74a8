"""Random: the score of a unit is a random number; a floor for every comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search, SearchPlan, structured_units, weight_units


@frozen
class Random(Pruner):
    """A search of no steps. ``draw`` with ``like`` set gives it the layer-wise sparsity of another ticket."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "score units at random, without training"
    searches: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = False

    structured: bool = setting(False, help="score heads and neurons instead of single weights")

    def groups(self) -> tuple[str, ...]:
        """Return heads and neurons, or single weights."""
        return ("heads", "neurons") if self.structured else ("weights",)

    def attach(self, backbone: Backbone, plan: SearchPlan) -> Search:
        """Start (and end) the search."""
        return _Dice(structured_units(backbone) if self.structured else weight_units(backbone), plan.seed)


class _Dice(Search):
    def __init__(self, units: Mapping[str, tuple[int, ...]], seed: int) -> None:
        self._units = units
        self._seed = seed

    def scores(self) -> Mapping[str, Tensor]:
        generator = torch.Generator().manual_seed(self._seed)
        return {name: torch.rand(shape, generator=generator) for name, shape in self._units.items()}
