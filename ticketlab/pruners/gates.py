"""Gates: factors that a search puts on the weights of a model, one for each weight, or one for each attention head and FFN neuron."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ticketlab.backbone import masks
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.matrices import Matrix
from ticketlab.backbone.slices import Slices


class Gates:
    """The gates on one matrix, which multiply it once per optimizer step.

    The passes of the step see the product, a detached leaf that collects their gradients. The gradient then goes through the gates only
    once, by the product rule. Between steps the model has its own weights.
    """

    def __init__(self, matrix: Matrix, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._matrix = matrix
        self._weight = matrix.weight
        self._masked = masks.attach_mask(matrix)

    def filled(self, value: float) -> Tensor:
        """Return a tensor of the shape of the gates, on the device and with the dtype of the matrix."""
        return torch.full(self.shape, value, dtype=self._weight.dtype, device=self._weight.device)

    def multiply(self, gates: Tensor) -> None:
        """Multiply the matrix by ``gates``, of :attr:`shape`, for all passes of the step. ``gates`` may be overwritten."""
        raise NotImplementedError

    def gradient(self, slope: Tensor | None = None) -> Tensor | None:
        """Return the gradient of the loss, of :attr:`shape`, and give the model its own weights again. None if there was no pass.

        It is the gradient with respect to the gates, or to what they are a function of if ``slope`` is their derivative with respect to
        it. ``slope`` may be overwritten.
        """
        raise NotImplementedError

    def remove(self) -> None:
        """Remove the gates from the model, which gets its own parameter back. The weights are unchanged."""
        masks.detach_mask(self._matrix)

    def _take_gradient(self) -> Tensor | None:
        """Return the gradient of the product, which the model uses no longer; None if there was no pass."""
        product, self._masked.effective = self._masked.effective, None
        return None if product is None else product.grad


class WeightGates(Gates):
    """One gate for each weight of a matrix, whose weights are frozen."""

    def __init__(self, matrix: Matrix) -> None:
        super().__init__(matrix, tuple(matrix.weight.shape))

    @torch.no_grad()
    def multiply(self, gates: Tensor) -> None:
        """Multiply each weight by its gate; see :meth:`Gates.multiply`."""
        self._masked.effective = gates.mul_(self._weight).requires_grad_()

    @torch.no_grad()
    def gradient(self, slope: Tensor | None = None) -> Tensor | None:
        """Return the gradient; see :meth:`Gates.gradient`."""
        gradient = self._take_gradient()
        return None if gradient is None else gradient.mul_(self._weight if slope is None else slope.mul_(self._weight))


class UnitGates(Gates):
    """One gate for each unit (head or neuron) that a matrix W reads. The weights may be trained too.

    Scaling the output x of a unit by its gate g is the same as scaling the columns of W that read it, since W (g x) = (W g) x. So no
    activation is changed, and the gates add nothing to a pass. ``read`` says where the units are among the inputs of the matrix.
    """

    def __init__(self, matrix: Matrix, read: Slices) -> None:
        super().__init__(matrix, (read.units(matrix.weight),))
        self._read = read
        self._factors = read.along(self.filled(1.0))

    @torch.no_grad()
    def multiply(self, gates: Tensor) -> None:
        """Multiply the columns of each unit by its gate; see :meth:`Gates.multiply`."""
        self._factors = self._read.along(gates.detach())
        self._masked.effective = (self._weight * self._factors).requires_grad_()

    @torch.no_grad()
    def gradient(self, slope: Tensor | None = None) -> Tensor | None:
        """Return the gradient, and add that of the weights to theirs unless they are frozen; see :meth:`Gates.gradient`."""
        gradient = self._take_gradient()
        if gradient is None:
            return None
        by_unit = self._read.total(torch.linalg.vecdot(gradient, self._weight, dim=1 - self._read.dimension))
        if self._weight.requires_grad:
            of_weight = gradient.mul_(self._factors)
            self._weight.grad = of_weight if self._weight.grad is None else self._weight.grad.add_(of_weight)
        return by_unit if slope is None else by_unit.mul_(slope)


def weight_gates(backbone: Backbone, names: Iterable[str]) -> dict[str, Gates]:
    """Put a gate on every weight of the matrices named ``weights/<matrix>``."""
    return {name: WeightGates(backbone.module(name)) for name in names}


def unit_gates(backbone: Backbone) -> dict[str, Gates]:
    """Put a gate on every head and neuron, on the matrices that read them: the attention output and the second FFN matrix.

    The names and shapes are those of the structured units of the backbone, layer by layer.
    """
    gates: dict[str, Gates] = {}
    for index, layer in enumerate(backbone.layers):
        gates[f"heads/{index}"] = UnitGates(layer.attention_output, layer.head_reader)
        gates[f"neurons/{index}"] = UnitGates(layer.ffn_out, layer.neuron_reader)
    return gates
