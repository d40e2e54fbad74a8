"""Masks from elsewhere: which unit of a backbone each is about, and whether its shape and values are those of a mask.

The names may be those of

- parameters, with or without the prefix of the base model: ``bert.encoder.layer.0.attention.self.query.weight``, or the path of a module;
- the buffers of :mod:`torch.nn.utils.prune`, ``...weight_mask``, also in a state dict, beside ``...weight_orig`` and other parameters;
- the units of a ticket: ``weights/...``, ``heads/0``, ``neurons/0``;
- ``head_mask`` of shape (layers, heads) and ``neuron_mask`` of shape (layers, neurons), as transformers had them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.original_state import MASK, ORIGINAL, original_state
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import counted
from ticketlab.tickets.draw import group_of

OF_LAYERS = {"head_mask": "heads", "heads": "heads", "neuron_mask": "neurons", "neurons": "neurons"}
"""Names of masks with a row for each layer."""


@frozen
class ImportedMasks:
    """Boolean masks by unit. ``whole`` are units of the same groups that no mask was given for: they are kept, with masks of ones."""

    masks: Mapping[str, Tensor]
    whole: tuple[str, ...]


def import_masks(backbone: Backbone, given: Mapping[str, Any]) -> ImportedMasks:
    """Return the masks of ``backbone``'s units; ``given`` are tensors or arrays by name, 1 or true where something is kept.

    Parameters of a state dict are ignored, and masks of ones of parameters that a ticket does not cover, such as biases.

    :raises UsageError: a name is of no unit, a shape is not that of its unit, a value is neither 0 nor 1, or two masks are of one unit.
    """
    units = backbone.units(pooler=True, classifier=True)
    parameters = {_parameter(backbone, name) for name in original_state(backbone.model)}
    masks: dict[str, Tensor] = {}
    names: dict[str, str] = {}
    unknown: list[str] = []
    for name in _names_of_masks(given):
        mask = _binary(name, given[name])
        for unit, own in (_of_layers(backbone, name, mask) or {_unit(backbone, name, units): mask}).items():
            if unit in names:
                raise UsageError(f"`{names[unit]}` and `{name}` are both masks of `{unit}`; keep one of them")
            if unit in units:
                names[unit], masks[unit] = name, _fitting(name, own, units[unit])
            elif _parameter(backbone, name) not in parameters:
                unknown.append(name)
            elif removed := _count_zeros(own):
                raise UsageError(
                    f"`{name}`: removes {removed} of {counted(own.numel(), 'value')} of a parameter that a ticket does not cover; tickets "
                    "are of weight matrices, heads and neurons"
                )
    _refuse_unknown(backbone, unknown, units)
    if not masks:
        raise UsageError("there is no mask of a weight matrix, of heads or of neurons")
    groups = {group_of(unit) for unit in masks}
    whole = tuple(unit for unit in backbone.units() if group_of(unit) in groups and unit not in masks)
    return ImportedMasks(masks | {unit: torch.ones(units[unit], dtype=torch.bool) for unit in whole}, whole)


def pruned_masks(model: nn.Module) -> dict[str, Tensor]:
    """Return the masks that :mod:`torch.nn.utils.prune` has put on a model, by the names of their buffers.

    :raises UsageError: there are none; after ``prune.remove`` they are lost, and only zeros are left.
    """
    parameters = dict(model.named_parameters())
    found = {name: mask for name, mask in model.named_buffers() if f"{name.removesuffix(MASK)}{ORIGINAL}" in parameters}
    if not found:
        raise UsageError(
            "the model has no masks of torch.nn.utils.prune; after prune.remove only zeros are left: pass masks to Ticket.from_masks"
        )
    return found


def _names_of_masks(given: Mapping[str, Any]) -> list[str]:
    """Return the names of the masks: all, or in the state dict of a pruned model those with the suffix of masks."""
    is_state = any(name.endswith(ORIGINAL) and f"{name.removesuffix(ORIGINAL)}{MASK}" in given for name in given)
    return [name for name in given if name.endswith(MASK) or not is_state]


def _unit(backbone: Backbone, name: str, units: Mapping[str, tuple[int, ...]]) -> str:
    """Return the unit that a mask is about; without one, the name itself."""
    path = _parameter(backbone, name)
    return next((unit for unit in (name, f"weights/{path}", f"weights/{path}.weight") if unit in units), name)


def _parameter(backbone: Backbone, name: str) -> str:
    """Return the name of a mask's parameter in the base model, or in the whole model if it is outside."""
    return name.removesuffix(MASK).removeprefix(f"{getattr(backbone.model, 'base_model_prefix', '')}.")


def _binary(name: str, values: Any) -> Tensor:
    """Return a mask as booleans.

    :raises UsageError: it is not an array of numbers, or some values are neither 0 nor 1.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        values = torch.from_numpy(np.ascontiguousarray(values))
    if not isinstance(values, Tensor):
        raise UsageError(f"`{name}`: a mask must be a tensor or an array of numbers, not {type(values).__name__}")
    mask = values.detach().cpu()
    if mask.dtype == torch.bool:
        return mask
    other = (mask != 0) & (mask != 1)
    if wrong := _count_zeros(~other):
        example = mask[other].reshape(-1)[0].item()
        raise UsageError(
            f"`{name}`: {wrong} of {counted(mask.numel(), 'value')} are neither 0 nor 1, such as {example:g}; a mask has 1 for what is "
            "kept and 0 for what is removed: round scores first"
        )
    return mask != 0


def _of_layers(backbone: Backbone, name: str, mask: Tensor) -> dict[str, Tensor]:
    """Return the rows of a mask of all layers by unit; an empty mapping for any other name.

    :raises UsageError: it does not have a row for each layer.
    """
    group = OF_LAYERS.get(name)
    if group is None:
        return {}
    sizes = {shape for unit, shape in backbone.units().items() if group_of(unit) == group}
    layers = len(backbone.layers)
    if mask.ndim != 2 or len(mask) != layers or {(mask.shape[1],)} != sizes:
        expected = ", ".join(f"({layers}, {size})" for (size,) in sorted(sizes))
        raise UsageError(f"`{name}`: its shape is {tuple(mask.shape)}, and a mask of the model's {group} has the shape {expected}")
    return {f"{group}/{layer}": row for layer, row in enumerate(mask)}


def _fitting(name: str, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the mask.

    :raises UsageError: it has another shape.
    """
    if tuple(mask.shape) == shape:
        return mask
    if tuple(mask.shape) == shape[::-1]:
        raise UsageError(
            f"`{name}`: its shape is {tuple(mask.shape)}, and that of the model's {shape}: it is transposed (the weight of a Linear is "
            "(outputs, inputs), that of a Conv1D (inputs, outputs)); transpose all masks, also the square ones"
        )
    raise UsageError(f"`{name}`: its shape is {tuple(mask.shape)}, and that of the model's {shape}; is it from a model of another size?")


def _refuse_unknown(backbone: Backbone, unknown: list[str], units: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse names that are neither of units nor of other parameters.

    :raises UsageError: there are some; the message has the first few and the nearest name.
    """
    if not unknown:
        return
    known = [unit.removeprefix("weights/") for unit in units if group_of(unit) == "weights"] + list(OF_LAYERS)
    near = did_you_mean(_parameter(backbone, unknown[0]), known)
    near = near if near.startswith("; did you mean") else f"; the model has `{known[0]}` and {len(known) - 1} more"
    shown = ", ".join(f"`{name}`" for name in unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
    raise UsageError(f"the model has no parameter or unit called {shown}{near}; name them as in the model (--map PATTERN=NAME)")


def _count_zeros(mask: Tensor) -> int:
    """Return the number of false values."""
    return mask.numel() - int(torch.count_nonzero(mask))
