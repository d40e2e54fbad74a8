"""Apply masks to a model temporarily, to evaluate a ticket during a search; :mod:`ticketlab.backbone.masks` has the lasting ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand


@contextlib.contextmanager
@torch.no_grad()
def temporarily_masked(backbone: Backbone, masks: Mapping[str, Tensor]) -> Iterator[None]:
    """Zero the units that ``masks`` remove inside the block. Afterwards the weights are restored exactly."""
    expanded = expand(backbone, masks)
    covered = {name: backbone.parameter(name) for name in expanded}
    before = {name: parameter.detach().clone() for name, parameter in covered.items()}
    try:
        for name, kept in expanded.items():
            covered[name].masked_fill_(~kept.to(covered[name].device), 0)
        yield
    finally:
        for name, parameter in covered.items():
            parameter.copy_(before[name])
