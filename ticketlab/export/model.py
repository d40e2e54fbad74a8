"""Write a finished model for others to use: dense, shrunk, or as an ONNX file."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from attrs import asdict, frozen
from torch import Tensor

from ticketlab.backbone.adapters import SHRUNK
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import zero
from ticketlab.backbone.saving import whole_folder, write_model
from ticketlab.backbone.shrinking import is_shrunk, masks_of, shrink, unshrink
from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.export import onnx
from ticketlab.export.card import Card
from ticketlab.export.provenance import Provenance
from ticketlab.tickets.draw import group_of
from ticketlab.tickets.ticket import Ticket

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Format = Literal["dense", "shrunk", "onnx"]
FORMATS: tuple[str, ...] = get_args(Format)
WEIGHTS = {"dense": "model.safetensors", "shrunk": "model.safetensors", "onnx": onnx.FILE}


@frozen
class Exported:
    """What an export left. Three sizes, apart: units that masks remove, numbers stored, and bytes of the file with the weights.

    ``sparsity`` is the removed fraction of each group of units, as far as masks are known; ``nonzero`` counts the parameters other
    than zero; ``largest_difference`` is that of an ONNX file's logits to torch's.
    """

    format: str
    parameters: int
    nonzero: int
    bytes: int
    sparsity: Mapping[str, float]
    largest_difference: float | None = None

    def to_table(self) -> dict[str, Any]:
        """Return plain values."""
        table = asdict(self)
        if self.largest_difference is None:
            del table["largest_difference"]
        return table


def export_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | Path,
    format: Format = "dense",
    *,
    ticket: Ticket | None = None,
    origin: Provenance | None = None,
) -> Exported:
    """Write a classifier with its tokenizer and a model card to a folder, all or nothing; the model given stays as it is.

    - ``dense``: full size, zeros where a ticket removes weights; plain ``from_pretrained`` reads it.
    - ``shrunk``: heads and neurons cut out; transformers reads it after ``import ticketlab.auto``.
    - ``onnx``: ``model.onnx``, checked against torch; needs neither ticketlab nor torch.

    ``ticket`` is applied first; for ``shrunk`` and ``onnx`` what a structured one removes is cut out. ``origin`` is what the card says
    beyond the model itself; its ticket counts as applied if the model's removed weights are zero. An earlier export in the folder is
    replaced. Single weights that a ticket removes are a warning: they bring no speed.

    :raises UsageError: no such format; the folder holds other files; nothing to shrink; the ticket is of another structure.
    :raises ResourceError: a package for ``onnx`` is missing.
    :raises ExportFailed: the ONNX file would compute other logits.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format `{format}`{did_you_mean(format, FORMATS)}")
    if format == "onnx":
        onnx.check_packages()
    known = origin or Provenance()
    under = _ticket_of(model, ticket, known)
    doubt = ticket.doubt(Backbone(model)) if ticket is not None and not is_shrunk(model) else ""
    masks = masks_of(model) if is_shrunk(model) else under.masks if under else {}
    single = any(group_of(name) == "weights" for name in masks)
    ready = _prepare(model, masks, format, single)
    if single:
        warnings.warn(
            "the ticket removes single weights: as zeros they make the model neither faster nor smaller; heads and neurons do", stacklevel=2
        )
    with whole_folder(folder) as partial:
        difference = None
        if format == "onnx":
            difference = onnx.write_onnx(ready, tokenizer, partial / onnx.FILE)
            _write_config(ready, partial)
            tokenizer.save_pretrained(partial)
        else:
            write_model(ready, tokenizer, partial, known.trained_on)
        exported = Exported(
            format=format,
            parameters=sum(parameter.numel() for parameter in ready.parameters()),
            nonzero=sum(int(parameter.detach().count_nonzero()) for parameter in ready.parameters()),
            bytes=(partial / WEIGHTS[format]).stat().st_size,
            sparsity=_sparsity(masks),
            largest_difference=difference,
        )
        card = Card(exported.to_table(), ready.config.model_type.removeprefix(SHRUNK), _labels(ready), known, masks, under, doubt)
        files.write_text(partial / "README.md", card.text())
    return exported


def _ticket_of(model: PreTrainedModel, ticket: Ticket | None, origin: Provenance) -> Ticket | None:
    """Return the ticket that the exported model is under: the one to apply, or the one that the model was trained under.

    :raises UsageError: the ticket to apply is of another structure.
    """
    if is_shrunk(model):
        own = masks_of(model)
        known = ticket or origin.ticket
        if (
            known is not None
            and known.masks.keys() <= own.keys()
            and all(torch.equal(mask, own[name]) for name, mask in known.masks.items())
        ):
            return known
        if ticket is not None:
            raise UsageError("the model has been shrunk already, by another ticket; apply the ticket to the model of full size")
        return None
    if ticket is not None:
        ticket.backbone_of(model)
        return ticket
    backbone = Backbone(model)
    found = origin.ticket
    fits = found is not None and found.structure == backbone.fingerprint() and found.is_applied(backbone)
    return found if fits else None


def _prepare(model: PreTrainedModel, masks: Mapping[str, Tensor], format: Format, single: bool) -> PreTrainedModel:
    """Return the model to write: the one given where nothing changes, else a new one."""
    if format == "shrunk" and single:
        raise UsageError("a ticket of single weights makes no smaller model: every matrix keeps its shape; export it as `dense`")
    if format == "shrunk" and not masks:
        raise UsageError("the model has its full size; to export it as `shrunk`, give the ticket of heads and neurons to shrink it by")
    if is_shrunk(model):
        return unshrink(model) if format == "dense" else model
    if not masks:
        return model
    if format == "dense" or single:
        masked = copy.deepcopy(model)
        zero(Backbone(masked), masks)
        return masked
    return shrink(model, masks)


def _write_config(model: PreTrainedModel, folder: Path) -> None:
    """Write the config of the family, at its original sizes: it tells label names and tokenizer, and every transformers reads it."""
    full = unshrink(model)
    full.config.architectures = [type(full).__name__]
    full.config.save_pretrained(folder)


def _labels(model: PreTrainedModel) -> list[str]:
    return [str(model.config.id2label[index]) for index in range(model.config.num_labels)]


def _sparsity(masks: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the removed fraction of each group of units."""
    found = {}
    for group in sorted({group_of(name) for name in masks}):
        parts = [mask for name, mask in masks.items() if group_of(name) == group]
        total = sum(mask.numel() for mask in parts)
        found[group] = 1 - sum(int(mask.sum()) for mask in parts) / total
    return found
