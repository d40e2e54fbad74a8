"""A matrix whose weights and scores are trained together under a mask (Sanh et al., 2020, section 4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ticketlab.plugin import Matrix, attach_mask, detach_mask


class ScoredMatrix:
    """A matrix of a model with weights W, scores S and a mask M, all of one shape.

    The passes of a step see W' = M * W, a detached leaf that collects their gradients. The gradient of M is passed straight to S, so that
    dL/dS = dL/dW' * W, for removed weights too, and dL/dW = dL/dW' * M. Under gradient descent, S is then a sum of -dL/dW' * W: it rises
    while the weight moves away from zero. Between steps the model has its own weights.
    """

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self.weight = matrix.weight
        self.scores = nn.Parameter(torch.zeros_like(self.weight))
        self.mask = torch.ones_like(self.weight, dtype=torch.bool)
        self._masked = attach_mask(matrix)

    @torch.no_grad()
    def apply(self) -> None:
        """Use the masked weights in all passes of the step."""
        self._masked.effective = (self.weight * self.mask).requires_grad_()

    @torch.no_grad()
    def collect(self) -> None:
        """Add the gradients of the weights and of the scores, and give the model its own weights again. Nothing if there was no pass."""
        product, self._masked.effective = self._masked.effective, None
        if product is None or product.grad is None:
            return
        _add(self.scores, product.grad * self.weight)
        if self.weight.requires_grad:
            _add(self.weight, product.grad.mul_(self.mask))

    def remove(self) -> None:
        """Remove the mask from the model, which gets its own parameter back."""
        detach_mask(self._matrix)


def _add(parameter: nn.Parameter, gradient: Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
