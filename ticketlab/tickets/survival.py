"""Survival: the fraction of each part of a layer that a ticket keeps, such as that of one attention head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen
from torch import Tensor

from ticketlab.backbone.adapters import Adapter, adapter_of, model_types
from ticketlab.backbone.slices import Slices
from ticketlab.core.errors import UsageError
from ticketlab.tickets.ticket import Ticket

HEAD, NEURONS, ATTENTION, FEED_FORWARD = "head", "neurons", "attention", "feed-forward"
"""Parts of a layer: one attention head, the neurons of a structured ticket, and for tickets of single weights the matrices of the whole
self-attention and of the feed-forward network."""


@frozen
class Part:
    """The kept and total units of a ``part`` of a layer: weights of the matrices, or whole heads and neurons of a structured ticket.

    ``head`` is the number of the attention head, None for the other parts.
    """

    layer: int
    part: str
    head: int | None
    kept: int
    total: int

    @property
    def share(self) -> float:
        """The fraction that is kept; 1 for a part without units."""
        return self.kept / self.total if self.total else 1.0


def survival(ticket: Ticket, heads: int | None = None) -> list[Part]:
    """Return the survival of each part of each layer, ordered by layer.

    A structured ticket keeps or removes each head, and some of the neurons of a layer. In a ticket of single weights, a head has the rows
    of the query, key and value matrices that compute it, and the columns of the attention's output matrix that read it; the feed-forward
    network has both its matrices. ``heads`` is the number of heads of a layer, by default the one that the ticket records; if it records
    none, as tickets of earlier versions, the self-attention of a layer is one part. Masks outside the encoder's layers (pooler, classifier)
    belong to no part.

    :raises UsageError: the matrices are not those of a supported model family, or cannot be divided into this many heads.
    """
    parts = [*_structured(ticket.masks), *_unstructured(ticket.masks, heads or ticket.heads_per_layer)]
    return sorted(parts, key=lambda part: part.layer)


def _structured(masks: Mapping[str, Tensor]) -> Iterator[Part]:
    for name, mask in masks.items():
        group, _, layer = name.partition("/")
        if group == "heads":
            yield from (Part(int(layer), HEAD, head, int(kept), 1) for head, kept in enumerate(mask.tolist()))
        elif group == "neurons":
            yield Part(int(layer), NEURONS, None, int(mask.sum()), mask.numel())


def _unstructured(masks: Mapping[str, Tensor], heads: int | None) -> Iterator[Part]:
    matrices = {name: mask for name, mask in masks.items() if name.startswith("weights/")}
    if not matrices:
        return
    adapter = _adapter(matrices)
    for layer, prefix in enumerate(_layers(matrices, adapter)):
        yield from _attention(layer, adapter, [(part, matrices[f"{prefix}{part.path}.weight"]) for part in adapter.head_slices(1)], heads)
        feed_forward = [matrices[f"{prefix}{part.path}.weight"] for part in adapter.neuron_slices()]
        yield Part(layer, FEED_FORWARD, None, sum(int(mask.sum()) for mask in feed_forward), sum(mask.numel() for mask in feed_forward))


def _attention(layer: int, adapter: Adapter, masks: list[tuple[Slices, Tensor]], heads: int | None) -> Iterator[Part]:
    """Yield the heads of a layer, or its whole attention, from the mask of each matrix with the slices of heads of width 1."""
    numel = sum(mask.numel() for _, mask in masks)
    if heads is None:
        yield Part(layer, ATTENTION, None, sum(int(mask.sum()) for _, mask in masks), numel)
        return
    *_, (reader, output) = masks
    width = reader.units(output)
    if width % heads:
        raise UsageError(f"the {width} rows of a query matrix cannot be divided into {heads} heads")
    wide = adapter.head_slices(width // heads)
    kept = sum(part.total(mask.sum(dim=1 - part.dimension)) for part, (_, mask) in zip(wide, masks, strict=True))
    assert isinstance(kept, Tensor)
    yield from (Part(layer, HEAD, head, int(count), numel // heads) for head, count in enumerate(kept))


def _adapter(matrices: Mapping[str, Tensor]) -> Adapter:
    """Return the adapter whose names the matrices have."""
    for model_type in model_types():
        adapter = adapter_of(model_type)
        if _layers(matrices, adapter):
            return adapter
    raise UsageError(f"no supported model family has the matrices of the ticket, such as `{next(iter(matrices))}`")


def _layers(matrices: Mapping[str, Tensor], adapter: Adapter) -> list[str]:
    """Return the beginnings of the names of the matrices of each layer, in the order of the layers."""
    query = f"{adapter.query}.weight"
    named = {name.removesuffix(query): adapter.layer_of(name) for name in matrices if name.endswith(f".{query}")}
    prefixes = {prefix: numbers for prefix, numbers in named.items() if numbers is not None}
    return sorted(prefixes, key=prefixes.__getitem__)
