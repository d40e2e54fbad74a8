"""Masks over a backbone: parametrizations for the forward passes of a search, and a callback that holds removed weights at zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.slices import Slices
from ticketlab.core.callback import Callback
from ticketlab.core.errors import UsageError


class MaskedWeight(nn.Module):
    """A parametrization of a module's weight. While ``effective`` is set, the module uses it in place of the weight.

    A search sets it once per optimizer step to a detached leaf. All passes of the step accumulate their gradients there, so the gradient
    goes through the mask only once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.effective: Tensor | None = None
        """The weight that the module uses, in the shape of its own; None to use its own."""

    def forward(self, original: Tensor) -> Tensor:
        """Return the effective weight, or the original one if none is set."""
        return original if self.effective is None else self.effective

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskedWeight:
        """Copy the effective weight by value: a tensor that is part of a graph does not support deepcopy."""
        copy = type(self)()
        copy.training = self.training
        if self.effective is not None:
            copy.effective = self.effective.detach().clone().requires_grad_(self.effective.requires_grad)
        memo[id(self)] = copy
        return copy


def attach_mask(linear: nn.Module) -> MaskedWeight:
    """Register a :class:`MaskedWeight` on a module's weight. Outputs do not change until ``effective`` is set.

    :raises ValueError: the weight is already parametrized.
    """
    if parametrize.is_parametrized(linear, "weight"):
        raise ValueError("the weight is already parametrized; remove the parametrization first")
    masked = MaskedWeight()
    parametrize.register_parametrization(linear, "weight", masked)
    _give_copies_their_own_class(type(linear))
    return masked


def _give_copies_their_own_class(cls: type[nn.Module]) -> None:
    """Give each deep copy its own class: torch lets it share the original's, and detaching one would then break the other."""
    copy_sharing_the_class: Callable[[nn.Module, dict[int, Any]], nn.Module] = cls.__deepcopy__  # type: ignore[attr-defined]

    def copy(linear: nn.Module, memo: dict[int, Any]) -> nn.Module:
        if id(linear) not in memo:
            shared = type(linear)
            copy_sharing_the_class(linear, memo).__class__ = type(shared.__name__, shared.__bases__, dict(vars(shared)))
        copied: nn.Module = memo[id(linear)]
        return copied

    cls.__deepcopy__ = copy  # type: ignore[attr-defined]


def detach_mask(linear: nn.Module) -> None:
    """Undo :func:`attach_mask`: the module gets its original parameter object back. Without a mask this does nothing."""
    if parametrize.is_parametrized(linear, "weight"):
        parametrize.remove_parametrizations(linear, "weight", leave_parametrized=False)


def expand(backbone: Backbone, masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Turn unit masks into parameter masks: multiplying the parameters by them has the effect of gating the units.

    For a removed head these are its outputs of query, key and value (weights and biases, and DeBERTa's position projections) and its inputs
    of the attention output. For a removed neuron they are its outputs of the first (two if that is gated) and its input of the second
    feed-forward matrix. What all layers share, as MPNet's bias for relative positions, stays. Returns
    boolean masks on the CPU, True for kept entries, by the parameter's name in the base model. Parameters that lose nothing may be absent.

    :raises UsageError: a mask names no unit of this backbone, or has another shape.
    """
    units = backbone.units(pooler=True, classifier=True)
    expanded: dict[str, Tensor] = {}
    for name, mask in masks.items():
        if units.get(name) != tuple(mask.shape):
            raise UsageError(f"the mask `{name}` {tuple(mask.shape)} does not fit the model, which has {units.get(name, 'no such unit')}")
        kept = mask.detach().cpu().bool()
        group, _, unit = name.partition("/")
        if group == "weights":
            _keep(expanded, unit, kept)
            continue
        layer = backbone.layers[int(unit)]
        for part in layer.heads if group == "heads" else layer.neurons:
            _keep_units(expanded, backbone, part, kept)
    return expanded


def _keep_units(expanded: dict[str, Tensor], backbone: Backbone, part: Slices, kept: Tensor) -> None:
    module = backbone.base.get_submodule(part.path)
    _keep(expanded, f"{part.path}.weight", part.along(kept).expand(backbone.parameter(f"{part.path}.weight").shape))
    if part.outputs and getattr(module, "bias", None) is not None:
        _keep(expanded, f"{part.path}.bias", part.spread(kept))


def _keep(expanded: dict[str, Tensor], name: str, kept: Tensor) -> None:
    expanded[name] = expanded[name] & kept if name in expanded else kept.contiguous()


class RemovedWeights:
    """The entries of one parameter that a mask removes. The mask is moved to the device of the tensors that it is used on."""

    def __init__(self, kept: Tensor) -> None:
        self._kept = kept
        self._count = kept.numel() - int(torch.count_nonzero(kept))

    def __len__(self) -> int:
        """Return the number of removed entries."""
        return self._count

    def on(self, device: torch.device) -> Tensor:
        """Return the boolean mask on a device, False for removed entries."""
        if self._kept.device != device:
            self._kept = self._kept.to(device)
        return self._kept

    def zero(self, tensor: Tensor) -> None:
        """Zero the removed entries of a parameter or of its gradient, in place. NaN and infinity become NaN, so they are detected."""
        kept = self.on(tensor.device).view(torch.uint8)
        factors = torch.eq(kept, 1, out=torch.empty_like(tensor, requires_grad=False))
        tensor.detach().mul_(factors)  # on a CPU twice as fast as with a boolean mask, and called in every step


def removed_weights(backbone: Backbone, masks: Mapping[str, Tensor]) -> list[tuple[nn.Parameter, RemovedWeights]]:
    """Return every parameter that the unit masks affect, with the entries that they remove. Raises as :func:`expand`."""
    return [(backbone.parameter(name), RemovedWeights(kept)) for name, kept in expand(backbone, masks).items()]


def zero_removed(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    """Set to zero, in place, every parameter that the unit masks remove. Raises as :func:`expand`."""
    for name, kept in expand(backbone, masks).items():
        parameter = backbone.parameter(name).detach()
        parameter.masked_fill_(~kept.to(parameter.device), 0)


class HoldMaskCallback(Callback):
    """Keeps the weights that a ticket removes at exactly zero in ticketlab's training loop, with any optimizer.

    The weights are zeroed at once. Gradients are masked before clipping, so that norms count only the ticket's weights. Raises as
    :func:`expand`. :func:`ticketlab.tickets.holding.hold` does the same in other training loops.
    """

    def __init__(self, backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
        self._parts = removed_weights(backbone, masks)
        self.reapply()

    @property
    def held(self) -> int:
        """The number of trainable weights that are held at zero."""
        return sum(len(removed) for parameter, removed in self._parts if parameter.requires_grad)

    def mask_gradients(self) -> None:
        """Zero the gradients of removed weights, in place."""
        for parameter, removed in self._parts:
            if parameter.grad is not None:
                removed.zero(parameter.grad)

    def reapply(self) -> None:
        """Zero the removed weights, in place."""
        for parameter, removed in self._parts:
            removed.zero(parameter)

    def on_after_backward(self) -> None:
        """Mask the gradients."""
        self.mask_gradients()

    def on_step_end(self, step: int) -> bool:
        """Zero the removed weights again: momentum and weight decay may have moved them."""
        self.reapply()
        return False
