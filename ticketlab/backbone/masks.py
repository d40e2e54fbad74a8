"""Masks over a backbone: in the forward pass during a search, in the weights themselves during a training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ticketlab.backbone.backbone import Backbone, Layer
from ticketlab.core.callback import Callback
from ticketlab.core.errors import UsageError


class MaskedWeight(nn.Module):
    """Stands between a linear module and its weight: while ``effective`` is set, the module computes with it.

    A search sets it once per optimizer step to a detached leaf, so that all passes of the step add their gradients there and the
    gradient goes through the mask once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.effective: Tensor | None = None

    def forward(self, original: Tensor) -> Tensor:
        """Return the effective weight, or the original one while there is none."""
        return original if self.effective is None else self.effective

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskedWeight:
        """Copy the effective weight by value: a tensor inside a graph has no deepcopy of its own."""
        copy = type(self)()
        copy.training = self.training
        if self.effective is not None:
            copy.effective = self.effective.detach().clone().requires_grad_(self.effective.requires_grad)
        memo[id(self)] = copy
        return copy


def attach_mask(linear: nn.Linear) -> MaskedWeight:
    """Put a :class:`MaskedWeight` between a module and its weight; outputs stay as they were until ``effective`` is set.

    :raises ValueError: the weight is parametrized already.
    """
    if parametrize.is_parametrized(linear, "weight"):
        raise ValueError("the weight is parametrized already; detach that first")
    masked = MaskedWeight()
    parametrize.register_parametrization(linear, "weight", masked)
    _give_copies_their_own_class(type(linear))
    return masked


def _give_copies_their_own_class(cls: type[nn.Linear]) -> None:
    """Let a deep copy have a class to itself: torch makes it share the original's, and detaching either then breaks the other."""
    copy_sharing_the_class: Callable[[nn.Linear, dict[int, Any]], nn.Linear] = cls.__deepcopy__  # type: ignore[attr-defined]

    def copy(linear: nn.Linear, memo: dict[int, Any]) -> nn.Linear:
        if id(linear) not in memo:
            shared = type(linear)
            copy_sharing_the_class(linear, memo).__class__ = type(shared.__name__, shared.__bases__, dict(vars(shared)))
        twin: nn.Linear = memo[id(linear)]
        return twin

    cls.__deepcopy__ = copy  # type: ignore[attr-defined]


def detach_mask(linear: nn.Linear) -> None:
    """Undo :func:`attach_mask`: the module has its original parameter back, the very same object. Nothing to undo is fine."""
    if parametrize.is_parametrized(linear, "weight"):
        parametrize.remove_parametrizations(linear, "weight", leave_parametrized=False)


def expand(backbone: Backbone, masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Turn unit masks into parameter masks: multiplying the parameters by them has the effect of gating the units.

    A removed head takes its rows of query, key and value (weights and biases; DeBERTa's projections of positions too) and its
    columns of the attention output with it; a removed neuron its row of the first and its column of the second feed-forward
    matrix. Returns boolean masks on the CPU, True where a parameter stays, keyed by the parameter's name seen from the base model.
    Parameters that lose nothing may be absent.

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
        elif group == "heads":
            _keep_heads(expanded, backbone.layers[int(unit)], kept.repeat_interleave(backbone.head_dim))
        else:
            _keep_neurons(expanded, backbone.layers[int(unit)], kept)
    return expanded


def _keep_heads(expanded: dict[str, Tensor], layer: Layer, kept: Tensor) -> None:
    for path, linear in layer.per_head.items():
        _keep_rows(expanded, path, linear, kept)
    _keep(expanded, f"{layer.paths[3]}.weight", kept.expand(layer.attention_output.out_features, -1))


def _keep_neurons(expanded: dict[str, Tensor], layer: Layer, kept: Tensor) -> None:
    *_, ffn_in, ffn_out = layer.paths
    _keep_rows(expanded, ffn_in, layer.ffn_in, kept)
    _keep(expanded, f"{ffn_out}.weight", kept.expand(layer.ffn_out.out_features, -1))


def _keep_rows(expanded: dict[str, Tensor], path: str, linear: nn.Linear, kept: Tensor) -> None:
    _keep(expanded, f"{path}.weight", kept.unsqueeze(1).expand(-1, linear.in_features))
    if linear.bias is not None:
        _keep(expanded, f"{path}.bias", kept)


def _keep(expanded: dict[str, Tensor], name: str, kept: Tensor) -> None:
    expanded[name] = expanded[name] & kept if name in expanded else kept.contiguous()


class Removed:
    """The part of one parameter that a mask removes. It follows the parameter from device to device."""

    def __init__(self, kept: Tensor) -> None:
        self._kept = kept
        self._count = kept.numel() - int(torch.count_nonzero(kept))

    def __len__(self) -> int:
        """Return how many of the parameter's weights are removed."""
        return self._count

    def on(self, device: torch.device) -> Tensor:
        """Return a boolean mask on a device, False where the parameter is removed."""
        if self._kept.device != device:
            self._kept = self._kept.to(device)
        return self._kept

    def zero(self, tensor: Tensor) -> None:
        """Zero the removed part of a parameter or of its gradient, in place; what is not finite there stays so, and is noticed."""
        tensor.detach().mul_(self.on(tensor.device))  # several times as fast as masked_fill_ on a CPU, and it is called in every step


def removed_parts(backbone: Backbone, masks: Mapping[str, Tensor]) -> list[tuple[nn.Parameter, Removed]]:
    """Return every parameter that the unit masks touch, with what they remove of it. Raises as :func:`expand`."""
    return [(backbone.parameter(name), Removed(kept)) for name, kept in expand(backbone, masks).items()]


def zero(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    """Set to zero, in place, every parameter that the unit masks remove. Raises as :func:`expand`."""
    for name, kept in expand(backbone, masks).items():
        parameter = backbone.parameter(name).detach()
        parameter.masked_fill_(~kept.to(parameter.device), 0)


class HeldMask(Callback):
    """Keeps the weights that a ticket's masks remove at exactly zero through our own training loop, with any optimizer.

    The weights are zeroed at once; gradients are masked before clipping, so that norms count the ticket's weights alone. Raises as
    :func:`expand`.
    """

    def __init__(self, backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
        self._parts = removed_parts(backbone, masks)
        self.reapply()

    @property
    def held(self) -> int:
        """How many weights would learn if they were not held at zero."""
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
