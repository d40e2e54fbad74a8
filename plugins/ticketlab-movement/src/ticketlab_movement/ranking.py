"""Masks that keep the weights with the highest scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from ticketlab.plugin import draw

Scope = Literal["global", "local"]


def highest(scores: Mapping[str, Tensor], sparsity: float, scope: Scope) -> dict[str, Tensor]:
    """Return boolean masks, False for exactly the fraction ``sparsity`` of lowest scores, on the device of the scores.

    They are those of :func:`ticketlab.plugin.draw`, which ranks on the CPU. On another device the scores are sorted there.
    """
    if all(score.device.type == "cpu" for score in scores.values()):
        return draw(scores, sparsity, scope)
    return sorted_masks(scores, sparsity, scope)


def sorted_masks(scores: Mapping[str, Tensor], sparsity: float, scope: Scope) -> dict[str, Tensor]:
    """Return the masks of :func:`highest` by a stable sort: of equal scores, those at the lowest positions are removed."""
    if scope == "local":
        return {name: _kept(score.flatten(), sparsity).view_as(score) for name, score in scores.items()}
    sizes = [score.numel() for score in scores.values()]
    kept = torch.split(_kept(torch.cat([score.flatten() for score in scores.values()]), sparsity), sizes)
    return {name: part.view_as(score) for (name, score), part in zip(scores.items(), kept, strict=True)}


def _kept(values: Tensor, sparsity: float) -> Tensor:
    kept = torch.ones_like(values, dtype=torch.bool)
    kept[values.argsort(stable=True)[: math.floor(sparsity * len(values) + 0.5)]] = False
    return kept
