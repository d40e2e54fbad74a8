"""Masks of heads and neurons to test adapters with."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ticketlab.backbone.backbone import Backbone

REMOVED = 0.5
"""The fraction of the units that random tickets remove."""


def structured_units(backbone: Backbone) -> dict[str, tuple[int, ...]]:
    """Return the heads and neurons of each layer with their shapes."""
    return {name: shape for name, shape in backbone.units().items() if not name.startswith("weights/")}


def random_masks(backbone: Backbone, seed: int) -> dict[str, Tensor]:
    """Return a ticket that keeps at least one unit of each group."""
    generator = torch.Generator().manual_seed(seed)
    masks = {name: torch.rand(shape, generator=generator) > REMOVED for name, shape in structured_units(backbone).items()}
    for mask in masks.values():
        mask[int(mask.numel() * torch.rand(1, generator=generator))] = True
    return masks


def tickets(backbone: Backbone) -> list[tuple[str, dict[str, Tensor]]]:
    """Return tickets with what they are like."""
    some, others = random_masks(backbone, 0), random_masks(backbone, 1)
    none = {name: torch.zeros_like(mask) for name, mask in some.items()}
    last = len(backbone.layers) - 1
    ends = {"heads/0": none["heads/0"], f"neurons/{last}": none[f"neurons/{last}"]}
    return [
        ("of half of the units", some),
        ("of one layer", {f"heads/{last}": others[f"heads/{last}"]}),
        ("without a layer's heads", others | ends),
        ("of nothing", none),
    ]


def single_units(backbone: Backbone) -> Iterator[tuple[str, Tensor]]:
    """Yield masks of each layer: some that remove one head each, and one that removes every other neuron."""
    for name, (count,) in structured_units(backbone).items():
        if name.startswith("heads/"):
            for head in range(count):
                yield name, torch.arange(count) != head
        else:
            yield name, torch.arange(count) % 2 == 0
