"""The contract of a loss: one number and one weight per example."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.component import Component
from ticketlab.options import setting


@frozen
class Loss(Component):
    """Settings of a loss. ``reduction`` says what the weighted sum over a batch is divided by."""

    kind: ClassVar[str] = "loss"

    reduction: Literal["weights", "batch"] = setting(
        "weights", choices=("weights", "batch"), help="divide the sum of weight x loss by the sum of weights, or by the batch size"
    )

    def per_example(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss and the weight of each example, both (rows,), from logits (rows, classes) and labels (rows,)."""
        raise NotImplementedError

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        """Return the scalar that is minimised."""
        divisor = weights.sum() if self.reduction == "weights" else torch.tensor(float(len(weights)), device=weights.device)
        return (losses * weights).sum() / divisor
