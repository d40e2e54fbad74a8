"""Resize the modules of an encoder in place: cut heads and neurons out of them, or put zeros back.

:mod:`ticketlab.backbone.shrinking` makes whole shrunk models with it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.adapters import Adapter
from ticketlab.backbone.backbone import Backbone, Layer
from ticketlab.backbone.matrices import resize_module
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.backbone.slices import Resize


def cut_units(backbone: Backbone, masks: Mapping[str, Tensor], kept: Mapping[str, Tensor]) -> None:
    """Remove the units that boolean masks (``heads/<i>``, ``neurons/<i>``) do not keep, in place.

    The removed parameters of a unit are those of :func:`ticketlab.backbone.masks.expand`. Layers without a mask are unchanged. ``masks``
    are relative to the present size, ``kept`` are those that result from them, relative to the full size.

    :raises UsageError: the adapter does not name the attention modules.
    """
    _resize(backbone, masks, kept, _take)


def restore_units(backbone: Backbone, masks: Mapping[str, Tensor]) -> None:
    """Undo :func:`cut_units` with masks relative to the full size, in place. The removed units come back as zeros."""
    _resize(backbone, masks, {name: torch.ones_like(mask) for name, mask in masks.items()}, _put)


def _take(tensor: Tensor, kept: Tensor, dimension: int) -> Tensor:
    return tensor.index_select(dimension, _positions(kept, tensor))


def _put(tensor: Tensor, kept: Tensor, dimension: int) -> Tensor:
    shape = [*tensor.shape[:dimension], len(kept), *tensor.shape[dimension + 1 :]]
    return tensor.new_zeros(shape).index_copy_(dimension, _positions(kept, tensor), tensor)


def _positions(kept: Tensor, tensor: Tensor) -> Tensor:
    return kept.cpu().nonzero().flatten().to(tensor.device)


@torch.no_grad()
def _resize(backbone: Backbone, masks: Mapping[str, Tensor], kept: Mapping[str, Tensor], resize: Resize) -> None:
    for index, layer in enumerate(backbone.layers):
        for group, parts in (("heads", layer.heads), ("neurons", layer.neurons)):
            name = f"{group}/{index}"
            if name not in masks:
                continue
            for part in parts:
                resize_module(backbone.base.get_submodule(part.path), part, masks[name], resize)
            if group == "heads":
                _update_attention(backbone, layer, kept[name].tolist())


def _update_attention(backbone: Backbone, layer: Layer, kept: list[bool]) -> None:
    """Tell the attention module of a layer which heads of the full size it has left."""
    adapter, heads = backbone.adapter, sum(kept)
    check_names_attention(adapter)
    attention: Any = backbone.base.get_submodule(f"{layer.path}.{adapter.attention}")
    setattr(attention, adapter.attention_heads, heads)
    setattr(attention, adapter.attention_width, heads * backbone.head_dim)
    if adapter.per_head_inputs:
        attention.kept_heads = [head for head, stays in enumerate(kept) if stays]
    original: Any = getattr(type(attention), "with_heads", type(attention))
    if heads == 0:
        attention.__class__ = _headless(original, adapter)
    elif heads < len(kept) and adapter.per_head_inputs:
        attention.__class__ = _with_fewer_heads(original, adapter.per_head_inputs)
    else:
        attention.__class__ = original


def check_names_attention(adapter: Adapter) -> None:
    """Check that an adapter names the attention modules of its family, as shrinking needs.

    :raises UsageError: it does not.
    """
    if not adapter.attention:
        raise UsageError(f"the adapter `{adapter.name}` names no attention module, so its models cannot be shrunk; apply the masks instead")


@functools.cache
def _headless(attention: Any, adapter: Adapter) -> type[nn.Module]:
    """Return a subclass of an attention module for layers without heads, where the original's reshapes would fail.

    Its context has the width zero. Parameters and their names are unchanged. It is a subclass because transformers 5 collects attention
    maps by class.
    """

    def forward(module: nn.Module, *inputs: Any, **named: Any) -> tuple[Tensor, Tensor]:
        hidden: Tensor = (*inputs, *named.values())[0]
        rows, length, _ = hidden.shape
        context, probabilities = hidden.new_zeros(rows, length, 0), hidden.new_zeros(rows, 0, length, length)
        return adapter.without_heads(module, hidden, context), probabilities

    return _subclass("Headless", attention, forward)


@functools.cache
def _with_fewer_heads(attention: Any, per_head_inputs: tuple[str, ...]) -> type[nn.Module]:
    """Return a subclass of an attention module that takes the entries of its own heads from inputs with an entry for each head."""
    original: Any = attention.forward
    signature = inspect.signature(original)

    def forward(module: Any, *inputs: Any, **named: Any) -> Any:
        bound = signature.bind(module, *inputs, **named)
        for name in per_head_inputs:
            if isinstance(value := bound.arguments.get(name), Tensor):
                bound.arguments[name] = value[:, module.kept_heads]
        return original(*bound.args, **bound.kwargs)

    return _subclass("Selecting", attention, forward)


def _subclass(prefix: str, attention: type[nn.Module], forward: Any) -> type[nn.Module]:
    facts = {"forward": forward, "with_heads": attention, "__module__": attention.__module__, "__doc__": attention.__doc__}
    return type(f"{prefix}{attention.__name__}", (attention,), facts)
