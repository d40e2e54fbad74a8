"""The gradients of weights and scores, by hand and by automatic differentiation through a straight-through mask."""

from __future__ import annotations

from typing import cast

import torch
from ticketlab_movement.scored_matrix import ScoredMatrix
from torch import Tensor, nn

from ticketlab.plugin import Matrix


class Straight(torch.autograd.Function):
    """1 if the score is positive, else 0; the backward pass is the identity."""

    @staticmethod
    def forward(ctx: object, scores: Tensor) -> Tensor:
        """Return the mask."""
        return (scores > 0).float()

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        """Return the gradient of the mask as that of the scores."""
        return gradients[0]


def linear() -> Matrix:
    """W = (2, -3)."""
    made = cast(Matrix, nn.Linear(2, 1, bias=False))
    made.weight.data.copy_(torch.tensor([[2.0, -3.0]]))
    return made


def test_gradients_of_a_kept_and_a_removed_weight() -> None:
    """X = (1, 4) and M = (1, 0): y = 2. L = y^2 / 2 has dL/dW' = y x = (2, 8): dL/dW = (2, 0) and dL/dS = (2 x 2, 8 x -3)."""
    matrix = ScoredMatrix(module := linear())
    matrix.mask.copy_(torch.tensor([[True, False]]))
    matrix.apply()
    output = module(torch.tensor([1.0, 4.0]))
    torch.autograd.backward(output.square().sum() / 2)
    matrix.collect()
    assert output.tolist() == [2]
    assert gradient(matrix.weight).tolist() == [[2, 0]]
    assert gradient(matrix.scores).tolist() == [[4, -24]]


def test_after_a_step_of_descent_the_score_has_risen_where_the_weight_moves_away_from_zero() -> None:
    """A rate of 1/8: S = (-1/2, 3). The first weight falls towards zero; the second, -3, would fall away from it."""
    matrix = ScoredMatrix(module := linear())
    matrix.mask.copy_(torch.tensor([[True, False]]))
    matrix.apply()
    torch.autograd.backward(module(torch.tensor([1.0, 4.0])).square().sum() / 2)
    matrix.collect()
    torch.optim.SGD([matrix.scores, matrix.weight], lr=0.125).step()
    assert matrix.scores.tolist() == [[-0.5, 3]]
    assert matrix.weight.tolist() == [[1.75, -3]]


def test_two_passes_add_the_gradients_of_a_straight_through_mask() -> None:
    generator = torch.Generator().manual_seed(0)
    module = cast(Matrix, nn.Linear(5, 3))
    weight, scores = (torch.randn(3, 5, generator=generator).requires_grad_() for _ in range(2))
    module.weight.data.copy_(weight.detach())
    inputs = torch.randn(2, 4, 5, generator=generator)
    for batch in inputs:
        torch.autograd.backward(nn.functional.linear(batch, weight * Straight.apply(scores), module.bias).sin().sum())  # type: ignore[no-untyped-call]
    matrix = ScoredMatrix(module)
    matrix.mask.copy_(scores > 0)
    matrix.apply()
    for batch in inputs:
        torch.autograd.backward(module(batch).sin().sum())
    matrix.collect()
    torch.testing.assert_close(matrix.weight.grad, weight.grad)
    torch.testing.assert_close(matrix.scores.grad, scores.grad)


def test_the_module_has_its_own_weight_between_steps_and_afterwards() -> None:
    module = linear()
    parameter = module.weight
    matrix = ScoredMatrix(module)
    assert (module.weight.tolist(), matrix.collect()) == ([[2, -3]], None)
    matrix.mask.zero_()
    matrix.apply()
    assert module.weight.tolist() == [[0, 0]]
    matrix.collect()
    assert module.weight.tolist() == [[2, -3]]
    matrix.remove()
    assert module.weight is parameter
    assert matrix.scores.grad is None


def gradient(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
