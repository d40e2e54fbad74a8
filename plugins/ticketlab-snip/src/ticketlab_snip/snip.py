"""SNIP: connection sensitivity, the magnitude of gradient x weight (Lee et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import Backbone, Pruner, Search, SearchPlan, setting, weight_units


@frozen
class Snip(Pruner):
    """Scores weights by the gradients of a few batches, without training. Under an adversary these are the gradients of its loss.

    ``aggregate="sum"`` sums gradient x weight over the batches before taking the magnitude, which is the same as one large batch (the
    paper). ``"sizes"`` sums the magnitudes of the batches, so that opposite gradients do not cancel.
    """

    name: ClassVar[str] = "snip"
    summary: ClassVar[str] = "score weights by the effect of their removal on the loss"
    paper: ClassVar[str] = "Lee et al., 2019, https://arxiv.org/abs/1810.02340"

    batches: int = setting(10, at_least=1, unit="batches", help="number of batches; fewer if the search is shorter")
    aggregate: Literal["sum", "sizes"] = setting(
        "sum", choices=("sum", "sizes"), help="take the magnitude of the summed gradient x weight, or sum the magnitudes"
    )
    pooler: bool = setting(False, help="also score the matrix of the pooler")

    def attach(self, backbone: Backbone, plan: SearchPlan) -> Search:
        """Start a search; see :meth:`Pruner.attach`."""
        return SnipSearch(self, backbone)


class SnipSearch(Search):
    """Requests gradients of the weights during each step. No optimizer has the weights, so they do not change."""

    def __init__(self, settings: Snip, backbone: Backbone) -> None:
        self._settings = settings
        self._weights = {name: backbone.weight(name) for name in weight_units(backbone, pooler=settings.pooler)}
        self._sums = {name: torch.zeros_like(weight) for name, weight in self._weights.items()}

    def on_step_start(self, step: int) -> None:
        """Request the gradients of the weights."""
        for weight in self._weights.values():
            weight.requires_grad_(True)

    @torch.no_grad()
    def on_after_backward(self) -> None:
        """Add the gradients of the step, which are summed over its passes, and freeze the weights again."""
        for name, weight in self._weights.items():
            if weight.grad is not None:
                sensitivity = weight.grad.mul_(weight)
                self._sums[name] += sensitivity.abs_() if self._settings.aggregate == "sizes" else sensitivity
            weight.grad = None
            weight.requires_grad_(False)

    def on_step_end(self, step: int) -> bool:
        """End the search after the configured number of batches."""
        return step + 1 >= self._settings.batches

    def scores(self) -> Mapping[str, Tensor]:
        """Return the sensitivities, divided by their sum over all weights."""
        sizes = {name: total.abs() for name, total in self._sums.items()}
        whole = sum(float(size.double().sum()) for size in sizes.values()) or 1.0
        return {name: (size.double() / whole).cpu() for name, size in sizes.items()}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the sums so far."""
        return dict(self._sums)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the sums."""
        for name, total in self._sums.items():
            total.copy_(state[name])
