"""No adversary: plain training."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.adversaries.base import Adversary, plain_step
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import LossFunction


@frozen
class Clean(Adversary):
    """One forward-backward pass per optimizer step, on unperturbed embeddings."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "plain training, one pass per step"

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Accumulate the gradients of the clean loss."""
        return plain_step(loss_function, batch)
