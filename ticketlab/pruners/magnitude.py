"""Magnitude: the score of a weight is its absolute value, as in the lottery ticket baselines (Chen et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.pruners.base import Pruner, Search, weight_units
from ticketlab.training.plan import TrainingPlan


@frozen
class Magnitude(Pruner):
    """Scores the weights that the search starts from; it takes no training steps."""

    name: ClassVar[str] = "magnitude"
    summary: ClassVar[str] = "score weights by their magnitude, without training"
    paper: ClassVar[str] = "Chen et al., 2020, https://arxiv.org/abs/2007.12223"
    searches: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = False

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def begin(self, plan: TrainingPlan) -> Search:
        """Return a search whose scores are known at once."""
        return _MagnitudeSearch(plan.backbone)


class _MagnitudeSearch(Search):
    def __init__(self, backbone: Backbone) -> None:
        self._backbone = backbone

    def scores(self) -> Mapping[str, Tensor]:
        return {name: self._backbone.weight(name).detach().abs().cpu() for name in weight_units(self._backbone)}
