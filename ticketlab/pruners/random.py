"""Random: the score of a unit is a random number; a baseline for every comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search, structured_units, weight_units
from ticketlab.training.plan import TrainingPlan


@frozen
class Random(Pruner):
    """Scores units at random; it takes no training steps. ``like`` of a draw stage gives it the layer-wise sparsity of another ticket."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "score units at random, without training"
    searches: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = False

    structured: bool = setting(False, help="score heads and neurons instead of single weights")

    def groups(self) -> tuple[str, ...]:
        """Return heads and neurons, or single weights."""
        return ("heads", "neurons") if self.structured else ("weights",)

    def begin(self, plan: TrainingPlan) -> Search:
        """Return a search whose scores are known at once."""
        return _RandomSearch(structured_units(plan.backbone) if self.structured else weight_units(plan.backbone), plan.seed)


class _RandomSearch(Search):
    def __init__(self, units: Mapping[str, tuple[int, ...]], seed: int) -> None:
        self._units = units
        self._seed = seed

    def scores(self) -> Mapping[str, Tensor]:
        generator = torch.Generator().manual_seed(self._seed)
        return {name: torch.rand(shape, generator=generator) for name, shape in self._units.items()}
