"""Sizes of units: the magnitude of a weight, and the root mean square of the weights of a head or neuron."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.slices import Slices


def weight_sizes(backbone: Backbone, names: Iterable[str]) -> dict[str, Tensor]:
    """Return the magnitudes of the weights of the matrices named ``weights/<matrix>``, on the model's device."""
    return {name: backbone.weight(name).detach().abs() for name in names}


def unit_sizes(backbone: Backbone) -> dict[str, Tensor]:
    """Return the root mean square of the weights of each head and neuron, named and shaped as the structured units, layer by layer.

    A head has its rows of the query, key and value matrices (and of any others with rows per head) and its columns of the attention
    output; a neuron has its row of the first and its column of the second FFN matrix. This ranks units as the L2 norm does, and its scale
    is that of a single weight. Biases do not count.
    """
    sizes: dict[str, Tensor] = {}
    for index, layer in enumerate(backbone.layers):
        sizes[f"heads/{index}"] = root_mean_square(backbone, layer.heads)
        sizes[f"neurons/{index}"] = root_mean_square(backbone, layer.neurons)
    return sizes


def root_mean_square(backbone: Backbone, parts: Sequence[Slices]) -> Tensor:
    """Return the root mean square of the weights of each unit, (units,), whose weights are in all ``parts``."""
    squares, count = [], 0
    for part in parts:
        weight = backbone.parameter(f"{part.path}.weight").detach()
        squares.append(part.total(weight.square().sum(dim=1 - part.dimension)))
        count += weight.shape[1 - part.dimension] * part.width * part.blocks
    return (torch.stack(squares).sum(dim=0) / count).sqrt()
