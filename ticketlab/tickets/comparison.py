"""The overlap of tickets: how similar their masks are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.errors import UsageError
from ticketlab.tickets.draw import group_of
from ticketlab.tickets.ticket import Ticket


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


@frozen
class PackedMasks:
    """The masks of a ticket with eight units per byte, to compare many tickets in little memory."""

    structure: str
    bits: Mapping[str, int]
    """For each group of units, its masks as one integer: a bit per unit, those of padding 0."""
    totals: Mapping[str, int]

    @classmethod
    def of(cls, ticket: Ticket) -> PackedMasks:
        """Pack the masks of a ticket."""
        packed: dict[str, list[bytes]] = {}
        totals: dict[str, int] = {}
        for name in sorted(ticket.masks):
            mask = ticket.masks[name]
            group = group_of(name)
            packed.setdefault(group, []).append(np.packbits(mask.numpy().reshape(-1)).tobytes())
            totals[group] = totals.get(group, 0) + mask.numel()
        shapes = sorted((name, tuple(mask.shape)) for name, mask in ticket.masks.items())
        return cls(f"{ticket.structure} {shapes}", {group: int.from_bytes(b"".join(parts)) for group, parts in packed.items()}, totals)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of units, sorted."""
        return tuple(sorted(self.bits))

    def kept_share(self, group: str) -> float:
        """Return the kept fraction of a group's units."""
        return self.bits[group].bit_count() / self.totals[group] if self.totals[group] else 1.0

    def jaccard(self, other: PackedMasks, group: str) -> float | None:
        """Return the Jaccard index as in :func:`overlap`; None if the tickets mask different units, or not this group."""
        if self.structure != other.structure or group not in self.bits:
            return None
        either = (self.bits[group] | other.bits[group]).bit_count()
        return (self.bits[group] & other.bits[group]).bit_count() / either if either else 1.0
