"""Physically smaller models: the heads and neurons that a structured ticket removes are cut out of every matrix."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.utils import parametrize

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.cutting import cut, grow
from ticketlab.backbone.shrunk import kept_of, packed, shrunk_class, shrunk_config_class
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def shrink(model: PreTrainedModel, masks: Mapping[str, Tensor]) -> PreTrainedModel:
    """Return a smaller model that computes what ``model`` computes with the units outside ``masks`` at zero.

    :param masks: boolean, True where a unit stays: ``heads/<layer>`` (heads,), ``neurons/<layer>`` (neurons,). A layer without
        one stays whole; a layer may lose everything. For a shrunk model they are relative to what is left.
    :returns: a model with weights of its own, on the same device and in the same type and mode, of a class derived from the
        model's; its config has the original sizes and what was kept. The model given stays as it is.
    :raises UsageError: a mask is of single weights, names no unit of this model, or has another shape or type; or the family's
        adapter does not say how to shrink.
    :raises ValueError: the model carries parametrizations.
    """
    _check_plain(model)
    _check(Backbone(model), masks)
    kept = masks_of(model) or _whole(Backbone(model))
    small = _copy(model)
    cut(Backbone(small), masks)
    for name, mask in masks.items():
        kept[name][kept[name].clone()] = mask.cpu()
    _become(small, shrunk_class(model.__class__), shrunk_config_class(model.config.__class__))
    for group in ("heads", "neurons"):
        setattr(small.config, f"kept_{group}", [packed(mask) for name, mask in kept.items() if name.startswith(f"{group}/")])
    return small


def unshrink(model: PreTrainedModel) -> PreTrainedModel:
    """Return a shrunk model at its original size and of its original class, zeros where units were cut.

    Plain ``from_pretrained`` reads what is saved of it. A model that was not shrunk comes back as a copy.

    :raises ValueError: the model carries parametrizations.
    """
    _check_plain(model)
    full = _copy(model)
    if is_shrunk(model):
        grow(Backbone(full), masks_of(model))
        del full.config.kept_heads, full.config.kept_neurons
        _become(full, getattr(type(model), "full_class", type(model)), type(model.config).full_class)
    return full


def is_shrunk(model: PreTrainedModel) -> bool:
    """Say whether a model, or the headed model that it is the base of, came from :func:`shrink`."""
    return hasattr(model.config, "kept_heads")


def masks_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """Return what a shrunk model keeps of its original: boolean masks ``heads/<layer>`` and ``neurons/<layer>``, on the CPU.

    A model that was not shrunk has none.
    """
    return kept_of(model.config) if is_shrunk(model) else {}


def _whole(backbone: Backbone) -> dict[str, Tensor]:
    return {name: torch.ones(shape, dtype=torch.bool) for name, shape in backbone.units().items() if not name.startswith("weights/")}


def _copy(model: PreTrainedModel) -> PreTrainedModel:
    """Copy a model, every parameter contiguous: safetensors refuses others."""
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.data = parameter.data.contiguous()
    return twin


def _become(model: PreTrainedModel, model_class: type[PreTrainedModel], config_class: type) -> None:
    """Change the class of a model that has the architecture of the other already; its modules share its config."""
    model.__class__ = model_class
    model.config.__class__ = config_class


def _check_plain(model: PreTrainedModel) -> None:
    covered = next((name for name, module in model.named_modules() if parametrize.is_parametrized(module)), None)
    if covered is not None:
        raise ValueError(f"`{covered}` carries a parametrization; detach it before changing the model's size")


def _check(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    units = backbone.units()
    for name, mask in masks.items():
        group, shape = name.partition("/")[0], units.get(name)
        if group == "weights":
            raise UsageError(f"the mask `{name}` is of single weights; only heads and neurons can be cut out, so apply it instead")
        if shape is None:
            layers = len(backbone.layers)
            raise UsageError(f"the mask `{name}` does not fit the model, which has heads/<layer> and neurons/<layer> of {layers} layers")
        if tuple(mask.shape) != shape:
            raise UsageError(f"the mask `{name}` {tuple(mask.shape)} does not fit: the layer has {shape[0]} {group}, one value each")
        if mask.dtype != torch.bool:
            raise UsageError(f"the mask `{name}` holds {mask.dtype}, not torch.bool; a unit is kept whole or not at all")
