"""A ticket: which units of a backbone stay, on which weights that was found, and where it came from."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from attrs import field, frozen
from torch import Tensor

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand, zero
from ticketlab.backbone.shrinking import is_shrunk, shrink
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.tickets import storage
from ticketlab.tickets.draw import group_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel


NUMBER = re.compile("[0-9]{1,18}")


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort ``heads/2`` before ``heads/10``."""
    return [(int(part), "") if NUMBER.fullmatch(part) else (-1, part) for part in re.split(r"([0-9]{1,18})", name) if part]


def _masks(masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    for name, mask in masks.items():
        if mask.dtype != torch.bool:
            raise UsageError(f"the mask `{name}` is {mask.dtype}, not boolean")
    return {name: masks[name].detach().cpu().contiguous() for name in sorted(masks, key=_natural)}


def _plain(provenance: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(json.dumps(provenance, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as problem:
        raise UsageError(f"the provenance of a ticket holds plain JSON values: {problem}") from None
    return plain


@frozen(eq=False)
class Ticket:
    """Binary masks over a backbone. Two tickets with the same content are equal, and their files have the same bytes.

    ``masks`` has a boolean tensor for each group of units, True for those that stay, named and shaped as
    :meth:`ticketlab.backbone.backbone.Backbone.units`. ``structure`` is the backbone's fingerprint, ``found_on`` the hash of the
    weights it was found on, ``rewind_to`` of those that it goes with. ``provenance`` holds plain JSON values: what made the ticket.
    ``head`` is the classifier that it was found with, by the names of the whole model, for ``labels`` in this order; empty for a ticket
    that is not used without training.
    """

    masks: Mapping[str, Tensor] = field(converter=_masks)
    structure: str
    found_on: str
    rewind_to: str
    provenance: Mapping[str, Any] = field(factory=dict, converter=_plain)
    head: Mapping[str, Tensor] = field(factory=dict)
    labels: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ticket):
            return NotImplemented
        mine, theirs = {**self.masks, **self.head}, {**other.masks, **other.head}
        return self._header() == other._header() and all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())

    def __hash__(self) -> int:
        return hash((self.structure, self.found_on, self.rewind_to, *((name, self.kept_by(name)) for name in self.masks)))

    def _header(self) -> dict[str, Any]:
        shapes = {name: list(mask.shape) for name, mask in self.masks.items()}
        hashes = {"structure": self.structure, "found_on": self.found_on, "rewind_to": self.rewind_to}
        heads = {"head": sorted(self.head), "labels": list(self.labels)} if self.head else {}
        return {**hashes, "provenance": self.provenance, "shapes": shapes, **heads}

    def save(self, path: str | Path) -> None:
        """Write the ticket to a file, all or nothing; the folder is made where it is missing.

        :raises UsageError: the file cannot be written.
        """
        storage.write(files.expand(path), storage.encode(self.masks, self._header(), self.head))

    @classmethod
    def load(cls, path: str | Path) -> Ticket:
        """Read a ticket that :meth:`save` wrote.

        :raises UsageError: the file is missing, is not a ticket, or is damaged.
        """
        masks, header, head = storage.read(files.expand(path))
        hashes = (header["structure"], header["found_on"], header["rewind_to"])
        return cls(masks, *hashes, header["provenance"], head, tuple(header.get("labels", ())))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of units that the ticket masks, sorted: some of heads, neurons, weights."""
        return tuple(sorted({group_of(name) for name in self.masks}))

    def kept(self, group: str | None = None) -> int:
        """Return how many units stay, in one group or in all together."""
        return sum(self.kept_by(name) for name in self._names(group))

    def total(self, group: str | None = None) -> int:
        """Return how many units there are, in one group or in all together."""
        return sum(self.masks[name].numel() for name in self._names(group))

    def sparsity(self, group: str | None = None) -> float:
        """Return the achieved sparsity: the removed fraction of the units, in one group or in all together."""
        total = self.total(group)
        return (total - self.kept(group)) / total if total else 0.0

    def counts(self) -> str:
        """Return how many units of each group stay, in words: ``60 of 72 heads, 6451 of 9216 neurons``."""
        return ", ".join(f"{self.kept(group)} of {self.total(group)} {group}" for group in self.groups)

    def kept_by(self, name: str) -> int:
        """Return how many units of one mask stay."""
        return int(torch.count_nonzero(self.masks[name]))

    def _names(self, group: str | None) -> list[str]:
        if group is not None and group not in self.groups:
            raise UsageError(f"the ticket masks no {group}; it masks {', '.join(self.groups)}")
        return [name for name in self.masks if group in (None, group_of(name))]

    def survival(self) -> list[tuple[str, int, int]]:
        """Return (name, kept, total) for every mask, layer by layer: the table behind a heat map."""
        return [(name, self.kept_by(name), mask.numel()) for name, mask in self.masks.items()]

    def check(self, backbone: Backbone) -> None:
        """Make sure that the ticket is of the structure of ``backbone``, and its masks of the model's units.

        :raises UsageError: it is not.
        """
        if self.structure != backbone.fingerprint():
            if is_shrunk(backbone.model):
                raise UsageError("the model has been shrunk already; the ticket goes on one of the full size that it was drawn from")
            shape = f"{backbone.model.config.model_type}, {counted(len(backbone.layers), 'layer')} of {counted(backbone.num_heads, 'head')}"
            raise UsageError(f"the ticket was drawn from a model of another structure than this one ({shape})")
        units = backbone.units()
        for name, mask in self.masks.items():
            if units.get(name, tuple(mask.shape)) != tuple(mask.shape) or (group_of(name) != "weights" and name not in units):
                raise UsageError(f"the ticket's mask `{name}` of shape {tuple(mask.shape)} fits nothing in the model")

    def masks_on(self, backbone: Backbone, *, any_classifier: bool = False) -> dict[str, Tensor]:
        """Return the masks that have a place in ``backbone``: that of the encoder's pooler only where there is one.

        The masks of matrices outside the encoder belong to the classifier that the ticket was found with, and go on no other: weights that
        were drawn anew are not those that were ranked. ``any_classifier`` puts them on any one of their shapes.
        """
        units, own = backbone.units(pooler=True, classifier=True), backbone.units()
        inside = {name: mask for name, mask in self.masks.items() if name in own or name == backbone.inner_pooler}
        outside = {name: mask for name, mask in self.masks.items() if name not in inside}
        placed = {name: mask for name, mask in inside.items() if name in own or units.get(name) == tuple(mask.shape)}
        fits = all(units.get(name) == tuple(mask.shape) for name, mask in outside.items())
        return placed | outside if fits and (any_classifier or self._is_own_classifier(backbone, outside)) else placed

    def _is_own_classifier(self, backbone: Backbone, outside: Mapping[str, Tensor]) -> bool:
        """Say whether the matrices outside the encoder have, where these masks keep them, the values that the ticket was found with."""

        def is_own(name: str, mask: Tensor) -> bool:
            found = self.head.get(name.removeprefix("weights/"))
            return found is not None and torch.equal(backbone.weight(name).detach().cpu()[mask], found[mask])

        return all(is_own(name, mask) for name, mask in outside.items())

    def backbone_of(self, model: PreTrainedModel) -> Backbone:
        """Return the backbone of a model that the ticket may go on.

        Other weights than those of ``rewind_to`` or ``found_on`` are a warning, unless the removed ones are zero already: then the model
        was trained under this ticket.

        :raises UsageError: the model has another structure.
        """
        backbone = Backbone(model)
        self.check(backbone)
        doubt = self.doubt(backbone)
        if doubt:
            warnings.warn(doubt, stacklevel=3)
        return backbone

    def doubt(self, backbone: Backbone) -> str:
        """Return what is to be said where the weights of a backbone are not those that the ticket goes with, else nothing."""
        known = (self.rewind_to, self.found_on)
        if not self.rewind_to or backbone.weights_hash() in known or self.is_applied(backbone):
            return ""
        return "the ticket goes with other weights than the model has; it is applied all the same"

    def is_applied(self, backbone: Backbone) -> bool:
        """Say whether all removed weights of a backbone of this structure are zero."""
        expanded = expand(backbone, self.masks_on(backbone))
        return all(not torch.any(backbone.parameter(name).detach().cpu()[~kept]) for name, kept in expanded.items())

    def apply(self, model: PreTrainedModel) -> None:
        """Set the removed weights of a model to zero, in place: those of :meth:`masks_on`. Warns and raises as :meth:`backbone_of`."""
        backbone = self.backbone_of(model)
        zero(backbone, self.masks_on(backbone))

    def shrink(self, model: PreTrainedModel) -> PreTrainedModel:
        """Return a smaller model without the removed heads and neurons, as a new one; ``model`` stays as it is.

        Its logits are those of the model that :meth:`apply` leaves, to 1e-5. Warns as :meth:`backbone_of`.

        :raises UsageError: the model has another structure, or the ticket masks single weights, which leave every matrix its size.
        """
        if "weights" in self.groups:
            raise UsageError("a ticket of single weights makes no smaller model: every matrix keeps its shape; apply it instead")
        self.backbone_of(model)
        return shrink(model, self.masks)
