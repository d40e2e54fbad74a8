"""Export a finished model, with a model card: dense, shrunk, or as an ONNX file."""

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
from ticketlab.backbone.masks import zero_removed
from ticketlab.backbone.onnx_classifier import FILE as ONNX_FILE
from ticketlab.backbone.saving import whole_folder, write_model
from ticketlab.backbone.shrinking import is_shrunk, masks_of, shrink, unshrink
from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.export import onnx
from ticketlab.export.card import Card
from ticketlab.export.provenance import Provenance
from ticketlab.tickets.draw import group_of, removed_share
from ticketlab.tickets.ticket import Ticket

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Format = Literal["dense", "shrunk", "onnx", "onnx-int8"]
FORMATS: tuple[str, ...] = get_args(Format)
WEIGHTS = {"dense": "model.safetensors", "shrunk": "model.safetensors", "onnx": ONNX_FILE, "onnx-int8": ONNX_FILE}


@frozen
class Exported:
    """The sizes of an exported model: the removed units, the stored parameters, and the bytes of the file with the weights.

    ``sparsity`` is the removed fraction of each group of units, if masks are known; ``nonzero`` is the number of non-zero parameters;
    ``largest_difference`` is the largest difference between a logit of the ONNX file and that of torch.
    """

    format: str
    parameters: int
    nonzero: int
    bytes: int
    sparsity: Mapping[str, float]
    largest_difference: float | None = None

    def to_table(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
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
    provenance: Provenance | None = None,
) -> Exported:
    """Write a classifier with its tokenizer and a model card to a folder, atomically. The model itself is not changed.

    - ``dense``: full size, with zeros where a ticket removes weights; plain ``from_pretrained`` loads it.
    - ``shrunk``: removed heads and neurons are cut out; transformers loads it after ``import ticketlab.auto``.
    - ``onnx``: ``model.onnx``, checked against torch; it needs neither ticketlab nor torch.
    - ``onnx-int8``: the same with the weights of its matrices as 8-bit integers (:mod:`ticketlab.export.int8`).

    ``ticket`` is applied first; for all formats but ``dense``, the heads and neurons that it removes are cut out. ``provenance`` is shown
    on the card; its ticket counts as applied if the weights that it removes are zero in the model. An earlier export in the folder is
    replaced. A ticket of single weights causes a warning, since it makes the model no faster.

    The result has the ``format``, the numbers of ``parameters`` and of ``nonzero`` ones, the ``bytes`` of the file with the weights, the
    removed fraction of each group of units (``sparsity``), and for ONNX the ``largest_difference`` between a logit of the file and torch's.

    :raises UsageError: unknown format; the folder holds other files; nothing to shrink; the ticket is for another structure.
    :raises ResourceError: a package for ``onnx`` is missing.
    :raises ExportFailed: the logits of the ONNX file differ from the model's.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format `{format}`{did_you_mean(format, FORMATS)}")
    if format.startswith("onnx"):
        onnx.check_packages()
    provenance = provenance or Provenance()
    applied = _applied_ticket(model, ticket, provenance)
    doubt = ticket.doubt(Backbone(model)) if ticket is not None and not is_shrunk(model) else ""
    masks = masks_of(model) if is_shrunk(model) else applied.masks_on(Backbone(model)) if applied else {}
    single = any(group_of(name) == "weights" for name in masks)
    ready = _prepare(model, masks, format, single)
    if single:
        warnings.warn(
            "the ticket removes single weights: zeros make the model neither faster nor smaller; removing heads and neurons does",
            stacklevel=2,
        )
    with whole_folder(folder) as partial:
        difference = None
        if format.startswith("onnx"):
            difference = onnx.write_onnx(ready, tokenizer, partial / ONNX_FILE, int8=format == "onnx-int8")
            _write_config(ready, partial)
            tokenizer.save_pretrained(partial)
            if provenance.trained_on is not None:
                provenance.trained_on.save(partial)
        else:
            write_model(ready, tokenizer, partial, provenance.trained_on)
        exported = Exported(
            format=format,
            parameters=sum(parameter.numel() for parameter in ready.parameters()),
            nonzero=sum(int(parameter.detach().count_nonzero()) for parameter in ready.parameters()),
            bytes=(partial / WEIGHTS[format]).stat().st_size,
            sparsity=dict(sorted(removed_share(masks).items())),
            largest_difference=difference,
        )
        card = Card(exported.to_table(), ready.config.model_type.removeprefix(SHRUNK), _labels(ready), provenance, masks, applied, doubt)
        files.write_text(partial / "README.md", card.text())
    return exported


def _applied_ticket(model: PreTrainedModel, ticket: Ticket | None, provenance: Provenance) -> Ticket | None:
    """Return the ticket of the exported model: the one to apply, or the one that the model was trained with; None if there is none.

    :raises UsageError: the ticket to apply is for another structure, or the model was shrunk by another ticket.
    """
    if is_shrunk(model):
        own = masks_of(model)
        known = ticket or provenance.ticket
        if (
            known is not None
            and known.masks.keys() <= own.keys()
            and all(torch.equal(mask, own[name]) for name, mask in known.masks.items())
        ):
            return known
        if ticket is not None:
            raise UsageError("the model has already been shrunk by another ticket; apply the ticket to the full-size model")
        return None
    if ticket is not None:
        ticket.backbone_of(model)
        return ticket
    backbone = Backbone(model)
    known = provenance.ticket
    fits = known is not None and known.structure == backbone.fingerprint() and known.is_applied(backbone)
    return known if fits else None


def _prepare(model: PreTrainedModel, masks: Mapping[str, Tensor], format: Format, single: bool) -> PreTrainedModel:
    """Return the model to write: ``model`` itself if nothing changes, otherwise a new one.

    :raises UsageError: the format is ``shrunk`` and there is nothing to shrink.
    """
    if format == "shrunk" and single:
        raise UsageError("a ticket of single weights does not make the model smaller: every matrix keeps its shape; export it as `dense`")
    if format == "shrunk" and not masks:
        raise UsageError("the model has its full size; to export it as `shrunk`, give a ticket of heads and neurons to shrink it with")
    if is_shrunk(model):
        return unshrink(model) if format == "dense" else model
    if not masks:
        return model
    if format == "dense" or single:
        masked = copy.deepcopy(model)
        zero_removed(Backbone(masked), masks)
        return masked
    return shrink(model, masks)


def _write_config(model: PreTrainedModel, folder: Path) -> None:
    """Write the config of the full-size model, which has the label names and can be loaded by any version of transformers."""
    full = unshrink(model)
    full.config.architectures = [type(full).__name__]
    full.config.save_pretrained(folder)


def _labels(model: PreTrainedModel) -> list[str]:
    return [str(model.config.id2label[index]) for index in range(model.config.num_labels)]
