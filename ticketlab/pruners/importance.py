"""Importance coefficients: one trained factor for each attention head and each FFN neuron, learned together with the weights.

EarlyRobust (Xi et al., 2022, Eq. 3-6) and ORTicket (2024, Eq. 3-7), after EarlyBERT (Chen et al., 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone import masks
from ticketlab.backbone.backbone import Backbone
from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search, SearchPlan


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

    def attach(self, backbone: Backbone, plan: SearchPlan) -> ImportanceSearch:
        """Put a coefficient on each head and neuron of ``backbone``."""
        return ImportanceSearch(self, backbone)


class ImportanceSearch(Search):
    """Scales, once per step, the columns of the matrix that reads a unit instead of the unit's output; the product is the same.

    The attention output and the second FFN matrix multiply the gated activations, so W (c x) = (W c) x. The passes of a step see W c, a
    detached leaf that collects their gradients. The product rule then gives the gradients of the weight and of the coefficient.
    """

    def __init__(self, settings: Importance, backbone: Backbone) -> None:
        self._settings = settings
        self._gates: dict[str, _Gate] = {}
        for index, layer in enumerate(backbone.layers):
            self._gates[f"heads/{index}"] = _Gate(layer.attention_output, backbone.head_dim)
            self._gates[f"neurons/{index}"] = _Gate(layer.ffn_out, 1)

    @property
    def coefficients(self) -> dict[str, nn.Parameter]:
        """The coefficients, named and shaped as the structured units of the backbone."""
        return {name: gate.coefficient for name, gate in self._gates.items()}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the coefficients as one optimizer group. By default the L1 penalty replaces weight decay."""
        rate = {} if self._settings.lr is None else {"lr": self._settings.lr}
        return [{"params": list(self.coefficients.values()), "weight_decay": self._settings.weight_decay, **rate}]

    def on_step_start(self, step: int) -> None:
        """Scale the weights for all passes of the step."""
        for gate in self._gates.values():
            gate.scale()

    def on_after_backward(self) -> None:
        """Propagate the gradients of the scaled weights to weights and coefficients."""
        for gate in self._gates.values():
            gate.collect()

    @torch.no_grad()
    def add_penalty(self) -> None:
        """Add the gradients of the L1 norms."""
        for name, gate in self._gates.items():
            penalty = self._settings.heads_penalty if name.startswith("heads/") else self._settings.neurons_penalty
            slope = gate.coefficient.sign().mul_(penalty)
            gate.coefficient.grad = slope if gate.coefficient.grad is None else gate.coefficient.grad.add_(slope)

    def metrics(self) -> dict[str, float]:
        """Return the L1 norm and the mean magnitude of the coefficients of heads and of neurons."""
        found: dict[str, float] = {}
        for group in ("heads", "neurons"):
            coefficients = torch.cat([gate.coefficient.detach() for name, gate in self._gates.items() if name.startswith(f"{group}/")])
            norm = float(coefficients.abs().sum(dtype=torch.float64))
            found |= {f"{group}_l1": norm, f"{group}_importance": norm / len(coefficients)}
        return found

    def scores(self) -> Mapping[str, Tensor]:
        """Return the magnitudes of the coefficients."""
        return {name: coefficient.detach().abs().cpu() for name, coefficient in self.coefficients.items()}

    def close(self) -> None:
        """Remove the coefficients. The weights stay as trained, without the scaling."""
        for gate in self._gates.values():
            masks.detach_mask(gate.linear)


class _Gate:
    """The coefficients of the units that one matrix reads, ``width`` columns per unit."""

    def __init__(self, linear: nn.Linear, width: int) -> None:
        self.linear = linear
        self.weight = linear.weight
        self.masked = masks.attach_mask(linear)
        self.width = width
        self.coefficient = nn.Parameter(torch.ones(linear.in_features // width, dtype=self.weight.dtype, device=self.weight.device))

    @torch.no_grad()
    def scale(self) -> None:
        self.masked.effective = (self.weight * self._columns()).requires_grad_()

    @torch.no_grad()
    def collect(self) -> None:
        scaled = self.masked.effective
        self.masked.effective = None
        self.coefficient.grad = None
        if scaled is None or scaled.grad is None:
            return
        by_column = torch.linalg.vecdot(scaled.grad, self.weight, dim=0)
        self.coefficient.grad = by_column.view(-1, self.width).sum(dim=1)
        gradient = scaled.grad.mul_(self._columns())
        if self.weight.requires_grad:
            self.weight.grad = gradient if self.weight.grad is None else self.weight.grad.add_(gradient)

    def _columns(self) -> Tensor:
        return self.coefficient.detach().repeat_interleave(self.width)
