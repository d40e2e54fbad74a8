"""Gates on a matrix: products and gradients worked out by hand."""

import pytest
import torch
from torch import nn

from ticketlab.backbone.slices import Slices
from ticketlab.pruners.gates import UnitGates, WeightGates

X = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
READS = Slices("", outputs=False, width=2)


def linear(*, trained: bool) -> nn.Linear:
    made = nn.Linear(4, 2, bias=False)
    made.weight.data = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    return made.requires_grad_(trained)


def test_a_gate_on_a_unit_scales_the_columns_that_read_it():
    matrix = linear(trained=True)
    gates = UnitGates(matrix, READS)
    assert gates.shape == (2,)
    gates.multiply(torch.tensor([0.5, 2.0]))
    assert matrix(X).tolist() == [[0.5 * (1 + 2) + 2 * (3 + 4), 0.5 * (5 + 6) + 2 * (7 + 8)]]
    matrix(X).sum().backward()
    assert gates.gradient().tolist() == [1 + 2 + 5 + 6, 3 + 4 + 7 + 8]
    gates.remove()
    assert matrix.weight.grad.tolist() == [[0.5, 0.5, 2.0, 2.0]] * 2
    assert matrix(X).tolist() == [[10, 26]]


def test_passes_add_their_gradients_and_the_slope_is_applied_once():
    gates = UnitGates(matrix := linear(trained=False), READS)
    gates.multiply(torch.tensor([1.0, 0.0]))
    for _ in range(2):
        (matrix(X) * torch.tensor([1.0, 0.0])).sum().backward()
    assert gates.gradient(torch.tensor([3.0, -1.0])).tolist() == [2 * 3 * (1 + 2), -2 * (3 + 4)]
    assert matrix.weight.grad is None
    assert gates.gradient() is None  # no pass since then


def test_gates_on_weights():
    gates = WeightGates(matrix := linear(trained=False))
    assert gates.shape == (2, 4)
    gates.multiply(torch.tensor([[1.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 2.0]]))
    assert matrix(X).tolist() == [[1 + 1.5, 16]]
    (matrix(X) * torch.tensor([1.0, 10.0])).sum().backward()
    assert gates.gradient(torch.full((2, 4), 2.0)).tolist() == [[2, 4, 6, 8], [100, 120, 140, 160]]


@pytest.mark.parametrize("transposed", [False, True], ids=["linear", "conv1d"])
def test_the_inputs_of_a_conv1d_are_its_rows(transposed):
    from transformers.pytorch_utils import Conv1D

    matrix = linear(trained=False)
    if transposed:
        made = Conv1D(2, 4)
        made.weight.data, made.bias.data = matrix.weight.data.T.contiguous(), torch.zeros(2)
        matrix = made.requires_grad_(False)
    gates = UnitGates(matrix, Slices("", outputs=False, width=2, transposed=transposed))
    gates.multiply(torch.tensor([0.5, 2.0]))
    assert matrix(X).tolist() == [[15.5, 35.5]]
    matrix(X).sum().backward()
    assert gates.gradient().tolist() == [14, 22]
