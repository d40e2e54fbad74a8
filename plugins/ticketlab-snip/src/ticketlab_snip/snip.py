"""SNIP: connection sensitivity, the magnitude of gradient x weight (Lee et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import Pruner, Search, TrainingPlan, setting, weight_units


@frozen
class Snip(Pruner):
    """Scores weights by the gradients of a few batches, with dropout off. Under an adversary these are the gradients of its loss.

    ``aggregate="sum"`` sums gradient x weight over the batches before taking the magnitude, which is the same as one large batch (the
    paper). ``"sizes"`` sums the magnitudes of the batches, so that opposite gradients do not cancel.
    """

    name: ClassVar[str] = "snip"
    summary: ClassVar[str] = "score weights by the effect of their removal on the loss"
    paper: ClassVar[str] = "Lee et al., 2019, https://arxiv.org/abs/1810.02340"
    version: ClassVar[int] = 2  # 2: without dropout
    searches: ClassVar[bool] = False
    has_penalty: ClassVar[bool] = False
    scores_batches: ClassVar[bool] = True

    batches: int = setting(10, at_least=1, unit="batches", help="number of batches")
    aggregate: Literal["sum", "sizes"] = setting(
        "sum", choices=("sum", "sizes"), help="take the magnitude of the summed gradient x weight, or sum the magnitudes"
    )
    pooler: bool = setting(False, help="also score the matrix of the pooler")

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def begin(self, plan: TrainingPlan) -> Search:
        """Compute the sensitivities; see :meth:`Pruner.begin`."""
        weights = {name: plan.backbone.weight(name) for name in weight_units(plan.backbone, pooler=self.pooler)}
        sums = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        for gradients in plan.gradients(weights, batches=self.batches):
            for name, gradient in gradients.items():
                sensitivity = gradient.mul_(weights[name].detach())
                sums[name] += sensitivity.abs_() if self.aggregate == "sizes" else sensitivity
        return SnipSearch(sums)


class SnipSearch(Search):
    """A search whose scores are known at once."""

    def __init__(self, sums: Mapping[str, Tensor]) -> None:
        self._sums = sums

    def scores(self) -> Mapping[str, Tensor]:
        """Return the sensitivities, divided by their sum over all weights."""
        sizes = {name: total.abs() for name, total in self._sums.items()}
        whole = sum(float(size.double().sum()) for size in sizes.values()) or 1.0
        return {name: (size.double() / whole).cpu() for name, size in sizes.items()}
