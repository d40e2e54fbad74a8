"""Shrink a model: cut the heads and neurons that a structured ticket removes out of every matrix, and undo it.

:mod:`ticketlab.backbone.resizing` changes the modules, and :mod:`ticketlab.backbone.shrunk_models` has the classes of the result.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.utils import parametrize

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.resizing import cut_units, restore_units
from ticketlab.backbone.shrink_trial import check_can_shrink
from ticketlab.backbone.shrunk_models import kept_units, pack_mask, shrunk_class, shrunk_config_class
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def shrink(model: PreTrainedModel, masks: Mapping[str, Tensor]) -> PreTrainedModel:
    """Return a smaller model that computes the same as ``model`` with the units outside ``masks`` set to zero.

    :param masks: boolean, True for kept units: ``heads/<layer>`` (heads,), ``neurons/<layer>`` (neurons,). A layer without a mask is
        unchanged; a layer may lose all its units. For a shrunk model, the masks are relative to the remaining units.
    :returns: a new model with its own weights, on the same device and with the same dtype and mode. Its class is derived from the
        model's, and its config has the original sizes and the kept units. ``model`` is unchanged.
    :raises UsageError: a mask is of single weights, names no unit of this model, or has another shape or type; or the adapter of the
        family does not support shrinking, see :func:`ticketlab.backbone.shrink_trial.check_can_shrink`.
    :raises ValueError: the model has parametrizations.
    """
    _check_plain(model)
    _check(Backbone(model), masks)
    check_can_shrink(model.config)
    kept = masks_of(model) or _whole(Backbone(model))
    small = _copy(model)
    for name, mask in masks.items():
        kept[name][kept[name].clone()] = mask.cpu()
    cut_units(Backbone(small), masks, kept)
    _set_class(small, shrunk_class(model.__class__), shrunk_config_class(model.config.__class__))
    for group in ("heads", "neurons"):
        setattr(small.config, f"kept_{group}", [pack_mask(mask) for name, mask in kept.items() if name.startswith(f"{group}/")])
    return small


def unshrink(model: PreTrainedModel) -> PreTrainedModel:
    """Return a shrunk model at its original size and of its original class, with zeros for the removed units.

    Once saved, it can be loaded with plain ``from_pretrained``. For a model that was not shrunk, a copy is returned.

    :raises ValueError: the model has parametrizations.
    """
    _check_plain(model)
    full = _copy(model)
    if is_shrunk(model):
        restore_units(Backbone(full), masks_of(model))
        del full.config.kept_heads, full.config.kept_neurons
        _set_class(full, getattr(type(model), "full_class", type(model)), type(model.config).full_class)
    return full


def is_shrunk(model: PreTrainedModel) -> bool:
    """Return whether a model, or the model that it is the base of, was made by :func:`shrink`."""
    return hasattr(model.config, "kept_heads")


def masks_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """Return the units that a shrunk model keeps: boolean masks ``heads/<layer>`` and ``neurons/<layer>`` of the original, on the CPU.

    Returns no masks for a model that was not shrunk.
    """
    return kept_units(model.config) if is_shrunk(model) else {}


def _whole(backbone: Backbone) -> dict[str, Tensor]:
    return {name: torch.ones(shape, dtype=torch.bool) for name, shape in backbone.units().items() if not name.startswith("weights/")}


def _copy(model: PreTrainedModel) -> PreTrainedModel:
    """Copy a model with contiguous parameters, as safetensors requires."""
    copied = copy.deepcopy(model)
    for parameter in copied.parameters():
        parameter.data = parameter.data.contiguous()
    return copied


def _set_class(model: PreTrainedModel, model_class: type[PreTrainedModel], config_class: type) -> None:
    """Change the class of a model whose modules already have the architecture of that class. Its modules share its config."""
    model.__class__ = model_class
    model.config.__class__ = config_class


def _check_plain(model: PreTrainedModel) -> None:
    covered = next((name for name, module in model.named_modules() if parametrize.is_parametrized(module)), None)
    if covered is not None:
        raise ValueError(f"`{covered}` has a parametrization; detach it before changing the model's size")


def _check(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    units = backbone.units()
    for name, mask in masks.items():
        group, shape = name.partition("/")[0], units.get(name)
        if group == "weights":
            raise UsageError(f"the mask `{name}` is of single weights; only heads and neurons can be cut out, so apply it instead")
        if shape is None:
            layers = len(backbone.layers)
            raise UsageError(f"the mask `{name}` does not fit the model, which has heads/<layer> and neurons/<layer> for {layers} layers")
        if tuple(mask.shape) != shape:
            raise UsageError(f"the mask `{name}` {tuple(mask.shape)} does not fit: the layer has {shape[0]} {group}, one value each")
        if mask.dtype != torch.bool:
            raise UsageError(f"the mask `{name}` has the type {mask.dtype}, not torch.bool; a unit is either kept or removed")
