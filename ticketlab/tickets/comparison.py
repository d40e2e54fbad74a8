"""The overlap of two tickets: how similar their masks are."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.errors import UsageError
from ticketlab.tickets.draw import group_of


@frozen
class MaskOverlap:
    """The similarity of two masks.

    ``hamming`` is the fraction of units on which they differ. ``jaccard`` is the number of units kept by both over those kept by either.
    """

    hamming: float
    jaccard: float


def overlap(masks: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> dict[str, MaskOverlap]:
    """Compare two sets of masks over the same units, for each group of units. Two masks that keep nothing have a Jaccard index of 1.

    :raises UsageError: they mask different units.
    """
    if {name: mask.shape for name, mask in masks.items()} != {name: mask.shape for name, mask in others.items()}:
        raise UsageError("the two tickets mask different units; only tickets of one structure and granularity can be compared")
    compared = {}
    for group in sorted({group_of(name) for name in masks}):
        pairs = [(mask, others[name]) for name, mask in masks.items() if group_of(name) == group]
        total = sum(mask.numel() for mask, _ in pairs)
        differing = sum(int(torch.count_nonzero(mask ^ other)) for mask, other in pairs)
        either = sum(int(torch.count_nonzero(mask | other)) for mask, other in pairs)
        compared[group] = MaskOverlap(differing / total if total else 0.0, (either - differing) / either if either else 1.0)
    return compared
