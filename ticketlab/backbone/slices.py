"""Where the heads and neurons of a layer are in its modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from torch import Tensor

    Resize = Callable[[Tensor, Tensor, int], Tensor]
    """(tensor, boolean mask over one of its dimensions, that dimension) -> contiguous tensor with another size in that dimension."""


@frozen
class Slices:
    """Where the units of a layer, heads or neurons, are in a module: along the outputs of the module, or along its inputs.

    Each of ``blocks`` equal blocks has ``width`` consecutive entries per unit. A unit also has its entries of the bias if they are outputs.
    """

    path: str
    """The path of the module."""
    outputs: bool
    """Whether the units are along the outputs of the module, and not along its inputs."""
    width: int = 1
    """The number of consecutive entries of a unit in a block."""
    blocks: int = 1
    """The number of blocks: one of a matrix of queries, three of a fused matrix of queries, keys and values."""
    transposed: bool = False
    """Whether the weight of the module has the shape (inputs, outputs) instead of (outputs, inputs)."""

    @property
    def dimension(self) -> int:
        """The dimension of the weight that the entries of the units are along."""
        return int(self.outputs == self.transposed)

    def spread(self, values: Tensor) -> Tensor:
        """Return the value of each entry, (blocks x units x width,), from those of the units, (units,)."""
        return values.repeat_interleave(self.width).repeat(self.blocks)

    def along(self, values: Tensor) -> Tensor:
        """Return :meth:`spread` in the shape that broadcasts over the weight."""
        entries = self.spread(values)
        return entries.unsqueeze(1) if self.dimension == 0 else entries

    def total(self, entries: Tensor) -> Tensor:
        """Return the sum over the entries of each unit, (units,), from (blocks x units x width,)."""
        return entries.view(self.blocks, len(entries) // (self.blocks * self.width), self.width).sum(dim=2).sum(dim=0)

    def units(self, weight: Tensor) -> int:
        """Return the number of units that a weight has room for."""
        return int(weight.shape[self.dimension]) // (self.width * self.blocks)
