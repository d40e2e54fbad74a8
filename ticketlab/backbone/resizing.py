"""Resize the linear modules of an encoder in place: cut heads and neurons out of them, or put zeros back.

:mod:`ticketlab.backbone.shrinking` makes whole shrunk models with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.backbone import Backbone, Layer
from ticketlab.core.errors import UsageError

Resize = Callable[[Tensor, Tensor, int], Tensor]
"""(tensor, boolean mask over one of its dimensions, that dimension) -> contiguous tensor with another size in that dimension."""


def cut_units(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    """Remove the units that boolean masks (``heads/<i>``, ``neurons/<i>``) do not keep, in place.

    The removed parameters of a head are those of :func:`ticketlab.backbone.masks.expand`. Layers without a mask are unchanged.

    :raises UsageError: the adapter does not name the attention modules.
    """
    _resize(backbone, masks, _take)


def restore_units(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    """Undo :func:`cut_units` with the same masks, in place. The removed units come back as zeros."""
    _resize(backbone, masks, _put)


def _take(tensor: Tensor, kept: Tensor, dimension: int) -> Tensor:
    return tensor.index_select(dimension, _positions(kept, tensor))


def _put(tensor: Tensor, kept: Tensor, dimension: int) -> Tensor:
    shape = [*tensor.shape[:dimension], len(kept), *tensor.shape[dimension + 1 :]]
    return tensor.new_zeros(shape).index_copy_(dimension, _positions(kept, tensor), tensor)


def _positions(kept: Tensor, tensor: Tensor) -> Tensor:
    return kept.cpu().nonzero().flatten().to(tensor.device)


@torch.no_grad()
def _resize(backbone: Backbone, masks: Mapping[str, Tensor], resize: Resize) -> None:
    for index, layer in enumerate(backbone.layers):
        if f"heads/{index}" in masks:
            rows = masks[f"heads/{index}"].repeat_interleave(backbone.head_dim)
            for linear in layer.per_head.values():
                _resize_rows(linear, rows, resize)
            _resize_columns(layer.attention_output, rows, resize)
            _update_attention(backbone, index, layer)
        if f"neurons/{index}" in masks:
            _resize_rows(layer.ffn_in, masks[f"neurons/{index}"], resize)
            _resize_columns(layer.ffn_out, masks[f"neurons/{index}"], resize)


def _resize_rows(linear: nn.Linear, kept: Tensor, resize: Resize) -> None:
    linear.weight = _like(linear.weight, resize(linear.weight, kept, 0))
    if linear.bias is not None:
        linear.bias = _like(linear.bias, resize(linear.bias, kept, 0))
    linear.out_features = len(linear.weight)


def _resize_columns(linear: nn.Linear, kept: Tensor, resize: Resize) -> None:
    linear.weight = _like(linear.weight, resize(linear.weight, kept, 1))
    linear.in_features = linear.weight.shape[1]


def _like(parameter: Tensor, values: Tensor) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=parameter.requires_grad)


def _update_attention(backbone: Backbone, index: int, layer: Layer) -> None:
    adapter, width = backbone.adapter, layer.query.out_features
    if not adapter.attention:
        raise UsageError(f"the adapter `{adapter.name}` names no attention module, so its models cannot be shrunk; apply the masks instead")
    attention = backbone.base.get_submodule(f"{adapter.layers}.{index}.{adapter.attention}")
    setattr(attention, adapter.attention_heads, width // backbone.head_dim)
    setattr(attention, adapter.attention_width, width)
    inside = adapter.attention_output.startswith(f"{adapter.attention}.")
    output = adapter.attention_output.removeprefix(f"{adapter.attention}.") if inside else ""
    original: Any = getattr(type(attention), "with_heads", type(attention))
    attention.__class__ = original if width else _headless(original, output)


@functools.cache
def _headless(attention: type[nn.Module], output: str) -> type[nn.Module]:
    """Return a subclass of an attention module for layers without heads, where the original's reshapes would fail.

    Its context has the width zero. Parameters and their names are unchanged. It is a subclass because transformers 5 collects attention
    maps by class. ``output`` names the child that projects the context, if that is part of the attention module, as in DistilBERT.
    """

    def forward(module: nn.Module, *inputs: Any, **named: Any) -> tuple[Tensor, Tensor]:
        hidden: Tensor = (*inputs, *named.values())[0]
        rows, length, _ = hidden.shape
        context, probabilities = hidden.new_zeros(rows, length, 0), hidden.new_zeros(rows, 0, length, length)
        return (getattr(module, output)(context) if output else context), probabilities

    facts = {"forward": forward, "with_heads": attention, "__module__": attention.__module__, "__doc__": attention.__doc__}
    return type(f"Headless{attention.__name__}", (attention,), facts)
