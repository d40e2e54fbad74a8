"""The sizes of heads and neurons, by hand."""

import math

import pytest
import torch
from support.small_searches import odd_model

from ticketlab.backbone.backbone import Backbone
from ticketlab.pruners.base import structured_units
from ticketlab.pruners.sizes import unit_sizes


def test_a_neuron_has_a_row_and_a_column_and_a_head_three_blocks_of_rows_and_one_of_columns():
    backbone = Backbone(odd_model())  # a hidden size of 15, three heads of 5, 29 neurons
    first = backbone.layers[0]
    with torch.no_grad():
        for matrix in first.matrices.values():
            matrix.weight.zero_()
        first.ffn_in.weight[4] = 3.0
        first.ffn_out.weight[:, 4] = 4.0
        first.ffn_out.weight[0, 7] = -2.0
        first.query.weight[5] = 6.0  # a row of the second head
        first.attention_output.weight[:, 14] = 2.0  # a column of the third
        first.attention_output.weight[0, 13] = -2.0
    sizes = unit_sizes(backbone)
    assert {name: tuple(size.shape) for name, size in sizes.items()} == structured_units(backbone)
    neurons = torch.zeros(29)
    neurons[4], neurons[7] = math.sqrt((15 * 9 + 15 * 16) / 30), math.sqrt(4 / 30)
    torch.testing.assert_close(sizes["neurons/0"], neurons)
    assert sizes["heads/0"].tolist() == pytest.approx([0, math.sqrt(15 * 36 / 300), math.sqrt(16 * 4 / 300)])
