"""Importance coefficients: one trained factor for each attention head and each FFN neuron, learned together with the weights.

EarlyRobust (Xi et al., 2022, Eq. 3-6) and ORTicket (2024, Eq. 3-7), after EarlyBERT (Chen et al., 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.device import where_float64_works
from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search
from ticketlab.pruners.gates import unit_gates
from ticketlab.training.plan import TrainingPlan


@frozen
class Importance(Pruner):
    """A coefficient, initially 1, scales the output of each head and the activation of each neuron.

    Minimises the objective + heads_penalty x sum |c| over the heads + neurons_penalty x sum |c| over the neurons, with respect to both
    weights and coefficients. The score of a unit is the magnitude of its coefficient.
    """

    name: ClassVar[str] = "importance"
    summary: ClassVar[str] = "train a coefficient per head and neuron together with the weights"
    paper: ClassVar[str] = "Xi et al., 2022, https://aclanthology.org/2022.emnlp-main.569"
    trains_weights: ClassVar[bool] = True

    heads_penalty: float = setting(1e-4, at_least=0, help="weight of the L1 norm of the heads' coefficients in the loss (lambda_H)")
    neurons_penalty: float = setting(1e-4, at_least=0, help="weight of the L1 norm of the neurons' coefficients in the loss (lambda_F)")
    lr: float | None = setting(None, above=0, help="learning rate of the coefficients; none: that of the weights, as in the papers")
    weight_decay: float = setting(
        0.0, at_least=0, help="AdamW's weight decay on the coefficients; the papers use none, the published code 0.01, as for the weights"
    )

    def groups(self) -> tuple[str, ...]:
        """Return heads and neurons."""
        return ("heads", "neurons")

    def begin(self, plan: TrainingPlan) -> ImportanceSearch:
        """Put a coefficient on each head and neuron of the backbone."""
        return ImportanceSearch(self, plan.backbone)


class ImportanceSearch(Search):
    """Trains the coefficients, which are gates on heads and neurons, and the weights that they scale."""

    def __init__(self, settings: Importance, backbone: Backbone) -> None:
        self._settings = settings
        self._gates = unit_gates(backbone)
        self.coefficients = {name: nn.Parameter(gates.filled(1.0)) for name, gates in self._gates.items()}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the coefficients as one optimizer group. By default the L1 penalty replaces weight decay."""
        rate = {} if self._settings.lr is None else {"lr": self._settings.lr}
        return [{"params": list(self.coefficients.values()), "weight_decay": self._settings.weight_decay, **rate}]

    def on_step_start(self, step: int) -> None:
        """Scale the weights for all passes of the step."""
        for name, gates in self._gates.items():
            gates.multiply(self.coefficients[name])

    def on_after_backward(self) -> None:
        """Propagate the gradients of the scaled weights to weights and coefficients."""
        for name, gates in self._gates.items():
            self.coefficients[name].grad = gates.gradient()

    @torch.no_grad()
    def add_penalty(self) -> None:
        """Add the gradients of the L1 norms."""
        for name, coefficient in self.coefficients.items():
            penalty = self._settings.heads_penalty if name.startswith("heads/") else self._settings.neurons_penalty
            slope = coefficient.sign().mul_(penalty)
            coefficient.grad = slope if coefficient.grad is None else coefficient.grad.add_(slope)

    def metrics(self) -> dict[str, float]:
        """Return the L1 norm and the mean magnitude of the coefficients of heads and of neurons."""
        found: dict[str, float] = {}
        for group in ("heads", "neurons"):
            coefficients = torch.cat([value.detach() for name, value in self.coefficients.items() if name.startswith(f"{group}/")])
            norm = float(where_float64_works(coefficients.abs()).sum(dtype=torch.float64))
            found |= {f"{group}_l1": norm, f"{group}_importance": norm / len(coefficients)}
        return found

    def scores(self) -> Mapping[str, Tensor]:
        """Return the magnitudes of the coefficients."""
        return {name: coefficient.detach().abs().cpu() for name, coefficient in self.coefficients.items()}

    def close(self) -> None:
        """Remove the coefficients. The weights stay as trained, without the scaling."""
        for gates in self._gates.values():
            gates.remove()
