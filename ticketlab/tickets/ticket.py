"""A ticket: which units of a backbone are kept, which weights it was found on, and its provenance."""

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
from ticketlab.backbone.classifier_head import head_of
from ticketlab.backbone.masks import expand, zero_removed
from ticketlab.backbone.shrinking import is_shrunk, shrink
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.tickets import storage
from ticketlab.tickets.draw import group_of
from ticketlab.tickets.imported import import_masks, pruned_masks

if TYPE_CHECKING:
    from transformers import PreTrainedModel


NUMBER = re.compile("[0-9]{1,18}")
HEADS_PER_LAYER = "heads_per_layer"
"""The key in a ticket's provenance for the number of attention heads of a layer, which the shapes of matrices do not tell."""


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts ``heads/2`` before ``heads/10``."""
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
        raise UsageError(f"the provenance of a ticket must hold plain JSON values: {problem}") from None
    return plain


@frozen(eq=False)
class Ticket:
    """Binary masks over a backbone. Two tickets with the same content are equal, and their files have the same bytes."""

    masks: Mapping[str, Tensor] = field(converter=_masks)
    """A boolean tensor for each group of units, True for kept units, named and shaped as in :meth:`Backbone.units`."""
    structure: str
    """The fingerprint of the backbone."""
    found_on: str
    """The hash of the weights that the ticket was found on."""
    rewind_to: str
    """The hash of the weights that it is meant to be applied to."""
    provenance: Mapping[str, Any] = field(factory=dict, converter=_plain)
    """How the ticket was made, as plain JSON values."""
    head: Mapping[str, Tensor] = field(factory=dict)
    """The tensors of the classifier that the ticket was found with, named as in the whole model.

    It is empty for a ticket that has to be trained before use.
    """
    labels: tuple[str, ...] = ()
    """The label names of that classifier, in the order of its outputs."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ticket):
            return NotImplemented
        tensors, other_tensors = {**self.masks, **self.head}, {**other.masks, **other.head}
        return self._header() == other._header() and all(torch.equal(tensor, other_tensors[name]) for name, tensor in tensors.items())

    def __hash__(self) -> int:
        return hash((self.structure, self.found_on, self.rewind_to, *((name, self.kept_by(name)) for name in self.masks)))

    def _header(self) -> dict[str, Any]:
        shapes = {name: list(mask.shape) for name, mask in self.masks.items()}
        hashes = {"structure": self.structure, "found_on": self.found_on, "rewind_to": self.rewind_to}
        heads = {"head": sorted(self.head), "labels": list(self.labels)} if self.head else {}
        return {**hashes, "provenance": self.provenance, "shapes": shapes, **heads}

    def save(self, path: str | Path) -> None:
        """Write the ticket to a file, atomically. Missing folders are created.

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

    @classmethod
    def from_masks(cls, model: PreTrainedModel, masks: Mapping[str, Any], provenance: Mapping[str, Any] | None = None) -> Ticket:
        """Make a ticket of masks that were found elsewhere, such as with another library, for ``model`` and its weights.

        ``masks`` are tensors or arrays by name, bool or exactly 0 and 1, where 1 is kept. The names may be those of parameters, of the
        buffers of ``torch.nn.utils.prune`` (also among the parameters of a state dict), of units, or ``head_mask`` and ``neuron_mask``
        with a row for each layer. Units of the same group without a mask are kept whole, and
        listed in the provenance as ``kept_whole``. If the classifier is masked, the ticket contains it. ``provenance`` is added to the
        ticket's.

        :raises UsageError: a name, shape or value is not that of a mask of this model.
        """
        backbone = Backbone(model)
        imported = import_masks(backbone, masks)
        weights = backbone.weights_hash()
        inside = {*backbone.units(), backbone.inner_pooler}
        head = {} if inside.issuperset(imported.masks) else head_of(model)
        labels = tuple(str(model.config.id2label[index]) for index in range(model.config.num_labels)) if head else ()
        facts = {"imported": True, HEADS_PER_LAYER: backbone.num_heads, "kept_whole": list(imported.whole)}
        return cls(imported.masks, backbone.fingerprint(), weights, weights, {**facts, **(provenance or {})}, head, labels)

    @classmethod
    def from_pruned(cls, model: PreTrainedModel) -> Ticket:
        """Make a ticket of the masks that ``torch.nn.utils.prune`` has put on a model, before ``prune.remove``.

        The ticket belongs to the model's original weights (``weight_orig``); the model is unchanged.

        :raises UsageError: it has no such masks, or they are of parameters that a ticket cannot mask.
        """
        return cls.from_masks(model, pruned_masks(model), {"imported_from": "torch.nn.utils.prune"})

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of units that the ticket masks, sorted: some of heads, neurons, weights."""
        return tuple(sorted({group_of(name) for name in self.masks}))

    @property
    def heads_per_layer(self) -> int | None:
        """The number of attention heads of a layer; None for a ticket of single weights that does not record it, as earlier ones."""
        recorded = self.provenance.get(HEADS_PER_LAYER)
        if type(recorded) is int and recorded > 0:
            return recorded
        return next((mask.numel() for name, mask in self.masks.items() if group_of(name) == "heads"), None)

    def kept(self, group: str | None = None) -> int:
        """Return the number of kept units, in one group or in all groups.

        :raises UsageError: the ticket masks no such group.
        """
        return sum(self.kept_by(name) for name in self._names(group))

    def total(self, group: str | None = None) -> int:
        """Return the number of units, in one group or in all groups.

        :raises UsageError: the ticket masks no such group.
        """
        return sum(self.masks[name].numel() for name in self._names(group))

    def sparsity(self, group: str | None = None) -> float:
        """Return the achieved sparsity: the removed fraction of the units, in one group or in all groups.

        :raises UsageError: the ticket masks no such group.
        """
        total = self.total(group)
        return (total - self.kept(group)) / total if total else 0.0

    def counts(self) -> str:
        """Return the number of kept units of each group as text: ``60 of 72 heads, 6451 of 9216 neurons``."""
        return ", ".join(f"{self.kept(group)} of {self.total(group)} {group}" for group in self.groups)

    def kept_by(self, name: str) -> int:
        """Return the number of kept units of one mask."""
        return int(torch.count_nonzero(self.masks[name]))

    def _names(self, group: str | None) -> list[str]:
        if group is not None and group not in self.groups:
            raise UsageError(f"the ticket masks no {group}; it masks {', '.join(self.groups)}")
        return [name for name in self.masks if group in (None, group_of(name))]

    def survival(self) -> list[tuple[str, int, int]]:
        """Return (name, kept, total) for every mask, layer by layer, as for a heat map."""
        return [(name, self.kept_by(name), mask.numel()) for name, mask in self.masks.items()]

    def check(self, backbone: Backbone) -> None:
        """Check that the ticket fits the structure of ``backbone``, and its masks the model's units.

        :raises UsageError: it does not.
        """
        if self.structure != backbone.fingerprint():
            if is_shrunk(backbone.model):
                raise UsageError("the model has been shrunk already; apply the ticket to a model of the full size that it was drawn from")
            shape = f"{backbone.model.config.model_type}, {counted(len(backbone.layers), 'layer')} of {counted(backbone.num_heads, 'head')}"
            raise UsageError(f"the ticket was drawn from a model of another structure than this one ({shape})")
        units = backbone.units()
        for name, mask in self.masks.items():
            if units.get(name, tuple(mask.shape)) != tuple(mask.shape) or (group_of(name) != "weights" and name not in units):
                raise UsageError(f"the ticket's mask `{name}` of shape {tuple(mask.shape)} fits nothing in the model")

    def masks_on(self, backbone: Backbone, *, any_classifier: bool = False, new_classifier: bool = False) -> dict[str, Tensor]:
        """Return the masks that apply to ``backbone``. The mask of the encoder's pooler is omitted if the model has none.

        The masks of matrices outside the encoder apply only to the classifier that the ticket was found with, because the weights of a
        re-initialised one are not those that were ranked. With ``any_classifier`` they apply to any classifier of their shapes, and
        otherwise not to a ``new_classifier``, whose values are those that the ticket was found with if both are initialised from one seed.
        """
        units, encoder = backbone.units(pooler=True, classifier=True), backbone.units()
        inside = {name: mask for name, mask in self.masks.items() if name in encoder or name == backbone.inner_pooler}
        outside = {name: mask for name, mask in self.masks.items() if name not in inside}
        applicable = {name: mask for name, mask in inside.items() if name in encoder or units.get(name) == tuple(mask.shape)}
        fits = all(units.get(name) == tuple(mask.shape) for name, mask in outside.items())
        if fits and (any_classifier or (not new_classifier and self._is_own_classifier(backbone, outside))):
            return applicable | outside
        return applicable

    def _is_own_classifier(self, backbone: Backbone, outside: Mapping[str, Tensor]) -> bool:
        """Return whether the kept weights of the matrices outside the encoder have the values that the ticket was found with."""

        def is_own(name: str, mask: Tensor) -> bool:
            stored = self.head.get(name.removeprefix("weights/"))
            return stored is not None and torch.equal(backbone.weight(name).detach().cpu()[mask], stored[mask])

        return all(is_own(name, mask) for name, mask in outside.items())

    def backbone_of(self, model: PreTrainedModel) -> Backbone:
        """Return the backbone of a model after checking that the ticket fits it.

        A warning is issued if its weights are neither those of ``rewind_to`` nor of ``found_on``, unless the removed ones are already
        zero: then the model was trained under this ticket.

        :raises UsageError: the model has another structure.
        """
        backbone = Backbone(model)
        self.check(backbone)
        doubt = self.doubt(backbone)
        if doubt:
            warnings.warn(doubt, stacklevel=3)
        return backbone

    def doubt(self, backbone: Backbone) -> str:
        """Return a warning if a backbone has other weights than the ticket was made for, else an empty string."""
        known = (self.rewind_to, self.found_on)
        if not self.rewind_to or backbone.weights_hash() in known or self.is_applied(backbone):
            return ""
        return "the ticket was made for other weights than the model has; it is applied anyway"

    def is_applied(self, backbone: Backbone) -> bool:
        """Return whether all removed weights of a backbone of this structure are zero."""
        expanded = expand(backbone, self.masks_on(backbone))
        return all(not torch.any(backbone.parameter(name).detach().cpu()[~kept]) for name, kept in expanded.items())

    def apply(self, model: PreTrainedModel) -> None:
        """Set the weights of a model that :meth:`masks_on` removes to zero, in place. Warns and raises as :meth:`backbone_of`."""
        backbone = self.backbone_of(model)
        zero_removed(backbone, self.masks_on(backbone))

    def shrink(self, model: PreTrainedModel) -> PreTrainedModel:
        """Return a new, smaller model without the removed heads and neurons. ``model`` is unchanged.

        Its logits equal those of the model after :meth:`apply`, to 1e-5. Warns as :meth:`backbone_of`.

        :raises UsageError: the model has another structure, or the ticket masks single weights, which does not change any shape.
        """
        if "weights" in self.groups:
            raise UsageError("a ticket of single weights cannot shrink a model, because every matrix keeps its shape; apply it instead")
        self.backbone_of(model)
        return shrink(model, self.masks)
