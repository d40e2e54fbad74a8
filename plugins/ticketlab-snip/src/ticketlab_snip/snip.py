"""SNIP: connection sensitivity, the size of gradient x weight (Lee et al., 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.plugin import Backbone, Pruner, Search, SearchPlan, setting, weight_units


@frozen
class Snip(Pruner):
    """Looks at the gradients of a few batches and changes nothing. Under an adversary they are the gradients of its loss.

    ``aggregate="sum"`` adds gradient x weight up before the size is taken, as for one large batch (the paper); ``"sizes"`` adds up the
    sizes of the batches, so that opposite gradients do not cancel.
    """

    name: ClassVar[str] = "snip"
    summary: ClassVar[str] = "score weights by what removing them would do to the loss"
    paper: ClassVar[str] = "Lee et al., 2019, https://arxiv.org/abs/1810.02340"

    batches: int = setting(10, at_least=1, unit="batches", help="batches whose gradients are looked at; fewer if the search is shorter")
    aggregate: Literal["sum", "sizes"] = setting(
        "sum", choices=("sum", "sizes"), help="add gradient x weight up and take its size, or add the sizes up"
    )
    pooler: bool = setting(False, help="score the pooler's matrix too")

    def attach(self, backbone: Backbone, plan: SearchPlan) -> Search:
        """Start a search."""
        return SnipSearch(self, backbone)


class SnipSearch(Search):
    """Lets the weights have gradients while a step runs. No optimizer knows them, so they stay as they are."""

    def __init__(self, settings: Snip, backbone: Backbone) -> None:
        self._settings = settings
        self._weights = {name: backbone.weight(name) for name in weight_units(backbone, pooler=settings.pooler)}
        self._sums = {name: torch.zeros_like(weight) for name, weight in self._weights.items()}

    def on_step_start(self, step: int) -> None:
        """Ask for the gradients of the weights."""
        for weight in self._weights.values():
            weight.requires_grad_(True)

    @torch.no_grad()
    def on_after_backward(self) -> None:
        """Take the gradients of the step, summed over its passes, and let go of the weights."""
        for name, weight in self._weights.items():
            if weight.grad is not None:
                sensitivity = weight.grad.mul_(weight)
                self._sums[name] += sensitivity.abs_() if self._settings.aggregate == "sizes" else sensitivity
            weight.grad = None
            weight.requires_grad_(False)

    def on_step_end(self, step: int) -> bool:
        """End after the batches that were asked for."""
        return step + 1 >= self._settings.batches

    def scores(self) -> Mapping[str, Tensor]:
        """Return the sensitivities, as shares of their sum over all weights."""
        sizes = {name: total.abs() for name, total in self._sums.items()}
        whole = sum(float(size.double().sum()) for size in sizes.values()) or 1.0
        return {name: (size.double() / whole).cpu() for name, size in sizes.items()}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the sums so far."""
        return dict(self._sums)

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take the sums back."""
        for name, total in self._sums.items():
            total.copy_(state[name])
